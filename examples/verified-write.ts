// A write that can look for itself whether it took effect. Kill this program while it publishes and run it again with the
// same database: the task does not publish twice, and does not ask you either. node examples/verified-write.ts
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createRuntime, createScriptedModel, defineAgent, defineTool, openSqliteStore } from "perdure";

const [folder = "."] = process.argv.slice(2);

interface Page {
  readonly page: string;
  readonly text: string;
}

const publish = defineTool({
  name: "Publish",
  description: "Publishes a page under a name that is new.",
  inputSchema: {
    type: "object",
    properties: { page: { type: "string" }, text: { type: "string" } },
    required: ["page", "text"],
  },
  effect: "write",
  async execute({ page, text }, { signal }) {
    await writeFile(join(folder, page), text, { flag: "wx", signal });
    // The page is there, and its result not yet in the log: as a slow service would have it.
    await new Promise((resolve) => setTimeout(resolve, Number(process.env["SLOW_MS"] ?? 0)));
    return `published ${page}`;
  },
  /** Asked after a crash, with what was announced: `unknown` would leave it to a person. */
  async verify({ input }) {
    const { page, text } = input as Page;
    const path = join(folder, page);
    if (!existsSync(path)) return "absent";
    return (await readFile(path, "utf8")) === text ? "done" : "unknown";
  },
});

const store = await openSqliteStore({ path: join(folder, "publish.db") });
const runtime = await createRuntime({
  store,
  agents: [defineAgent({ name: "publisher", model: "script", tools: [publish] })],
  models: {
    script: createScriptedModel({
      name: "script",
      lines: [
        { calls: [{ name: "Publish", input: { page: "news.txt", text: "We are live." } }] },
        { text: "It is out." },
      ],
    }),
  },
  module: import.meta.url,
  limits: { leaseMs: 500 },
});
const task = await runtime.create("Publish the news.", { key: "news" });
const { answer, outcome } = await task.untilRest();
console.log(answer ?? outcome);
for (const { event } of await task.events()) {
  if (event.type === "ToolFinished") console.log(event.status, event.settledBy ?? "", JSON.stringify(event.content));
}
await runtime.close();
await store.close();
