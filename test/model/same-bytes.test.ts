// One log gives the same request, byte for byte, from two processes with another locale, another time zone and plugins in
// another order; and the next request begins with the one before it, so that a provider's cache keeps hitting.
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPlace, newestTask, type Place } from "../cli/perdure.ts";
import { png } from "./media-samples.ts";
import { environment, kinds, openServer, streaming, type Kind, type ProviderServer } from "./provider-server.ts";
import type { WireReply } from "./wires.ts";

/** Plugins that bring tools and words of their own, whose names sort differently by locale. */
const config = (order: string): string => `
import { defineAgent, defineConfig, definePlugin, defineTool, fs } from "perdure";
const tool = (name) =>
  defineTool({
    name,
    description: "Ärger, öfter, I, i, ı, İ: " + name,
    effect: "read",
    inputSchema: { type: "object", properties: { z: { type: "string" }, a: { type: "number" } } },
    execute: () => "1,234.5 at noon",
  });
const plugin = (name, ...tools) =>
  definePlugin({ name, version: "1", tools: tools.map(tool), part: "Words of " + name });
const plugins = [fs(), plugin("zoo", "Zebra", "aardvark"), plugin("izmir", "I_look", "i_look")];
export default defineConfig({ agents: [defineAgent({ name: "a", plugins: plugins${order} })] });
`;

/** Thinks, calls twice, then answers. */
const replies: readonly WireReply[] = [
  {
    parts: [
      { reasoning: "I should look, ı think." },
      { text: "I look." },
      { call: { id: "call_0", name: "Read", json: '{"file_path":"a.txt"}' } },
      { call: { id: "call_0", name: "Zebra", json: '{"z":"İ","a":1}' } },
    ],
  },
  { parts: [{ text: "It says hello." }] },
];

const openProvider = async ({ wire }: Kind): Promise<ProviderServer> => {
  let served = 0;
  return openServer((response) => {
    const reply = replies[served++] ?? { parts: [{ text: "Again." }] };
    streaming(response).end(wire.frames(reply).join(""));
  });
};

const bodiesOf = ({ received }: ProviderServer): string[] => received.map(({ body }) => body);

/** What a process of its own sends first that works a copy of the place, database and all. */
const goOn = async (
  from: Place,
  kind: Kind,
  taskId: string,
  order: string,
  env: Readonly<Record<string, string>>,
): Promise<string> => {
  const place = createPlace();
  cpSync(from.folder, place.folder, { recursive: true });
  place.write("perdure.config.ts", config(order));
  const server = await openProvider(kind);
  const args = ["say", taskId, "and what else?", "--key", "k"];
  const finished = await place.start(args, { ...environment(server.url), ...env }).finished;
  expect(finished.stderr).toContain("has answered");
  return bodiesOf(server)[0] ?? "";
};

/** The conversation's messages of a body, without the cache marks that move on with it. */
const messagesOf = (body: string): unknown[] => {
  const unmarked = body.replaceAll(',"cache_control":{"type":"ephemeral"}', "");
  const { messages, input } = JSON.parse(unmarked) as { messages?: unknown[]; input?: unknown[] };
  return messages ?? input ?? [];
};

test.for(kinds)("case-34: $name is sent the same bytes from any process", async (kind) => {
  const place = createPlace();
  place.write("perdure.config.ts", config(""));
  place.write("a.txt", "hello");
  writeFileSync(join(place.folder, "shot.png"), png(3, 2));
  const server = await openProvider(kind);
  const run = ["run", "what is in a.txt?", "--model", kind.name, "--file", "shot.png"];
  const first = await place.start(run, environment(server.url)).finished;
  expect(first).toMatchObject({ code: 0, stdout: "It says hello.\n" });
  const taskId = await newestTask(place);

  const here = await goOn(place, kind, taskId, "", {
    LANG: "en_US.UTF-8",
    LC_ALL: "en_US.UTF-8",
    TZ: "America/New_York",
  });
  const there = await goOn(place, kind, taskId, ".reverse()", {
    LANG: "tr_TR.UTF-8",
    LC_ALL: "tr_TR.UTF-8",
    TZ: "Asia/Kolkata",
  });
  expect(there).toBe(here);

  const bodies = [...bodiesOf(server), here].map(messagesOf);
  expect(bodies).toHaveLength(3);
  for (const [index, later] of bodies.slice(1).entries()) {
    const earlier = bodies[index] ?? [];
    expect(later.slice(0, earlier.length)).toEqual(earlier);
    expect(later.length).toBeGreaterThan(earlier.length);
  }
});
