import { describe, expect, it } from "vitest";
import { call } from "../testing/given.ts";
import { lines, runHarness } from "../testing/harness.ts";
import type { Tool } from "../plugins/plugin.ts";

const look: Tool = {
  name: "look",
  description: "look at a file",
  inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  effect: "read",
  execute: ({ path }: { path: string }, context) => {
    context.record({ kind: "noted", data: { path } });
    return `what is in ${path}`;
  },
};

describe("a task that reads a file and answers", () => {
  it("leaves this log", async () => {
    const harness = await runHarness({ tools: [look], script: [[call("look", { path: "a.txt" })], "It says hello."] });
    expect(await harness.log()).toBe(
      lines(`
       1 TaskCreated        agent=harnessed  mode=conversation  owner=person:ada
    `),
    );
    console.log(harness.appends, harness.ends);
  });
});
