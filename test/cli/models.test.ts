// Models of providers from the command line: with a key nothing else is needed; without one, with a refused one, or with no
// server to reach, a person gets one line, and the task is whole and goes on later.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { png } from "../model/media-samples.ts";
import {
  KEY,
  environment,
  failing,
  kinds,
  nowhere,
  openServer,
  replying,
  type Kind,
} from "../model/provider-server.ts";
import { createPlace, lines, logOf, newestTask, shapeOf, viewOf, type Finished, type Place } from "./perdure.ts";

const answering = ({ wire }: Kind) => openServer(replying(wire, { parts: [{ text: "Hello." }] }));

const run = (kind: Kind): string[] => ["run", "say hello", "--model", kind.name];

/** One line on stderr, and nothing of the key in it or in anything that was stored. */
const expectOneLine = (place: Place, { stdout, stderr, code }: Finished, says: RegExp, exit = 1): void => {
  expect(stdout).toBe("");
  expect(stderr).toMatch(/^[^\n]+\n$/);
  expect(stderr).toMatch(says);
  expect(stderr).not.toContain(KEY);
  expect(code).toBe(exit);
  for (const file of readdirSync(place.folder, { recursive: true, withFileTypes: true })) {
    if (file.isFile()) expect(readFileSync(join(file.parentPath, file.name)).includes(KEY), file.name).toBe(false);
  }
};

describe.for(kinds)("$name", (kind) => {
  test("a key in the environment is all it needs", async () => {
    const place = createPlace();
    const server = await answering(kind);
    const finished = await place.start(run(kind), environment(server.url)).finished;
    expect(finished).toMatchObject({ code: 0, stdout: "Hello.\n" });
    const [received] = server.received;
    expect([received?.headers["x-api-key"], received?.headers.authorization]).toContain(
      kind.name.startsWith("anthropic") ? KEY : `Bearer ${KEY}`,
    );
  });

  test("without its key or its address there is one line, and no task", async () => {
    const place = createPlace();
    expectOneLine(place, await place.perdure(...run(kind)), /^perdure: \S+ needs .*: set [A-Z_]+/);
    expect((await place.perdure("tasks")).code).toBe(1);
  });

  test("a task that began with a key waits for one, whole", async () => {
    const place = createPlace();
    const server = await answering(kind);
    await place.start(run(kind), environment(server.url)).finished;
    const taskId = await newestTask(place);
    const before = await logOf(place, taskId);
    expectOneLine(place, await place.perdure("say", taskId, "again"), /^perdure: \S+ needs .*: set [A-Z_]+/);
    expect(await logOf(place, taskId)).toEqual(before);
    const again = await place.start(["say", taskId, "again"], environment(server.url)).finished;
    expect(again).toMatchObject({ code: 0, stdout: "Hello.\n" });
  });

  test("a refused key is one line; a resume with a good one goes on", async () => {
    const place = createPlace();
    const refusing = await openServer(failing(401, kind.wire.errorBody("invalid_api_key", `no such key: ${KEY}`)));
    const refused = await place.start(run(kind), environment(refusing.url)).finished;
    expectOneLine(place, refused, /has failed \(model_auth: \S+: the provider refuses the key.*perdure resume /, 3);
    expect(refusing.received).toHaveLength(1);
    const taskId = await newestTask(place);
    const resumed = await place.start(["resume", taskId], environment((await answering(kind)).url)).finished;
    expect(resumed).toMatchObject({ code: 0, stdout: "Hello.\n" });
  });

  test("a server that cannot be reached is one line, after as many tries as the task has; a resume goes on", async () => {
    const place = createPlace();
    place.write("perdure.config.ts", `export default { agents: [{ name: "a", settings: { modelAttempts: 2 } }] };`);
    const unreached = await place.start(run(kind), environment(await nowhere())).finished;
    expectOneLine(
      place,
      unreached,
      /is paused \(model_network: .* cannot be reached \(ECONNREFUSED\)\).*perdure resume /,
      3,
    );
    const taskId = await newestTask(place);
    expect(shapeOf(await logOf(place, taskId)).filter((shape) => shape === "core/model_failed")).toHaveLength(2);
    const resumed = await place.start(["resume", taskId], environment((await answering(kind)).url)).finished;
    expect(resumed).toMatchObject({ code: 0, stdout: "Hello.\n" });
  });
});

test.each([
  ["anthropic/", {}, '"anthropic/" names no model'],
  ["compatible/m", { PERDURE_COMPATIBLE_BASE_URL: "localhost:1" }, "PERDURE_COMPATIBLE_BASE_URL is no http address"],
  ["compatible/m", { PERDURE_COMPATIBLE_BASE_URL: `http://u:${KEY}@h/v1` }, "holds a user or a password"],
  ["openai/m", { OPENAI_API_KEY: `${KEY}\u00fc` }, "OPENAI_API_KEY holds characters that no key has"],
])("%s with %j is refused before anything is made", async (model, env, says) => {
  const place = createPlace();
  const finished = await place.start(["run", "hello", "--model", model], env).finished;
  expectOneLine(place, finished, /^perdure: /);
  expect(finished.stderr).toContain(says);
});

test("keys may come from a function of the configuration", async () => {
  const place = createPlace();
  const [kind] = kinds;
  if (kind === undefined) throw new Error("no kind");
  const server = await answering(kind);
  place.write(
    "perdure.config.ts",
    `const held = ${JSON.stringify(environment(server.url))};
     export default { model: "${kind.name}", secret: async (name) => held[name] };`,
  );
  expect(await place.perdure("run", "hello")).toMatchObject({ code: 0, stdout: "Hello.\n" });
});

test("any model of the AI SDK may be given in the configuration, under a name of its own, with prices", async () => {
  const place = createPlace();
  place.write(
    "perdure.config.ts",
    `import { createAiSdkModel, defineConfig } from "perdure";
     const usage = {
       inputTokens: { total: 1000, noCache: 1000, cacheRead: undefined, cacheWrite: undefined },
       outputTokens: { total: 100, text: 100, reasoning: undefined },
     };
     const parts = [
       { type: "text-start", id: "0" },
       { type: "text-delta", id: "0", delta: "From code." },
       { type: "text-end", id: "0" },
       { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
     ];
     const model = {
       specificationVersion: "v4", provider: "mine", modelId: "one", supportedUrls: {},
       doGenerate: () => { throw new Error("not asked for"); },
       doStream: async () => ({ stream: ReadableStream.from(parts) }),
     };
     export default defineConfig({
       model: "clever",
       models: { clever: createAiSdkModel({ model, name: "clever" }) },
       prices: { clever: { input: 2, output: 10 } },
     });`,
  );
  const view = viewOf(await place.perdure("run", "hello", "--json"));
  expect(view).toMatchObject({ answer: "From code.", usage: { input: 1000, output: 100, priceEstimate: 0.003 } });
  const usage = (await logOf(place, view.taskId)).find(({ type }) => type === "ModelReplied")?.["usage"];
  expect(usage).toMatchObject({ tokens: { input: 1000, output: 100 }, priceEstimate: 0.003 });
});

test("--file attaches what a model is shown; a file that is not there is a usage error", async () => {
  const place = createPlace();
  const [kind] = kinds;
  if (kind === undefined) throw new Error("no kind");
  const server = await answering(kind);
  writeFileSync(join(place.folder, "shot.dat"), png(3, 2));
  place.write("n.md", "# words");
  const files = ["--file", "shot.dat", "--file", "n.md"];
  const first = await place.start([...run(kind), ...files, "--key", "k"], environment(server.url)).finished;
  expect(first).toMatchObject({ code: 0, stdout: "Hello.\n" });
  const taskId = await newestTask(place);
  await place.start(["say", taskId, "and this", "--file", "n.md"], environment(server.url)).finished;
  const bodies = server.received.map(({ body }) => JSON.parse(body) as { messages: { content: unknown }[] });
  expect(bodies[0]?.messages[0]?.content).toMatchObject([
    { type: "text", text: "say hello" },
    { type: "image", source: { media_type: "image/png" } },
    { type: "text", text: "[The file n.md:]\n# words" },
  ]);
  expect(bodies[1]?.messages[2]?.content).toMatchObject([{ text: "and this" }, { text: "[The file n.md:]\n# words" }]);

  const same = await place.start([...run(kind), ...files, "--key", "k"], environment(server.url)).finished;
  expect(same.stderr).toContain(`the key k has a task already: ${taskId}`);
  expect(server.received).toHaveLength(2);

  const missing = await place.start([...run(kind), "--file", "gone.png"], environment(server.url)).finished;
  expect(missing).toMatchObject({ code: 2, stderr: "perdure: --file gone.png cannot be read: ENOENT\n" });
});

test("a command that names no provider's model loads no provider's package", async () => {
  const place = createPlace();
  place.write("replies.jsonl", lines({ text: "ok" }));
  place.write(
    "watch.mjs",
    `import { registerHooks } from "node:module";
     registerHooks({
       resolve(specifier, context, next) {
         if (specifier.startsWith("@ai-sdk/")) process.stderr.write("loaded " + specifier + "\\n");
         return next(specifier, context);
       },
     });`,
  );
  const env = { NODE_OPTIONS: `--import=${join(place.folder, "watch.mjs")}` };
  const scripted = await place.start(["run", "hello", "--model", "scripted:replies.jsonl"], env).finished;
  expect(scripted.stderr).not.toContain("loaded");
  const [kind] = kinds;
  if (kind === undefined) throw new Error("no kind");
  const server = await answering(kind);
  const named = await place.start(run(kind), { ...env, ...environment(server.url) }).finished;
  expect(named.stderr).toContain("loaded @ai-sdk/anthropic\n");
  expect(named.stderr).not.toContain("loaded @ai-sdk/openai");
});
