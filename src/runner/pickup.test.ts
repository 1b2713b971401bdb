import { describe, expect, it } from "vitest";
import { text } from "../core/messages.ts";
import type { Plugin } from "../plugins/plugin.ts";
import { createHarness, runHarness, toolOf } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";

const extra = (more: Partial<Plugin> = {}): Plugin => ({ name: "extra", version: "1", part: "Be brief.", ...more });

describe("the first pickup", () => {
  it("records prompts and plugins before the first step, and each definition once", async () => {
    const harness = await runHarness({ tools: [toolOf("look", "read")], plugins: [extra()], script: ["Hello."] });
    const [, prompts, plugins] = await harness.events();
    expect(prompts?.event).toMatchObject({
      kind: "prompts",
      data: {
        identity: "You are tested.",
        system: "Do as the script says.",
        parts: [{ plugin: "extra", text: "Be brief." }],
      },
    });
    expect(plugins?.event).toMatchObject({
      kind: "plugins",
      data: { pins: [{ name: "extra" }, { name: "test" }], tools: [{ name: "look", plugin: "test", effect: "read" }] },
    });
    const { tools } = (plugins?.event as { data: { tools: { definition: string }[] } }).data;
    const hashes = tools.map(({ definition }) => definition);
    expect(await harness.store.getDefinitions({ hashes })).toHaveLength(1);
    expect(harness.sent[0]?.request.system).toEqual(["You are tested.", "Do as the script says.\n\nBe brief."]);
    expect(harness.sent[0]?.request.tools.map(({ name }) => name)).toEqual(["look"]);
  });

  it("is the only one for a process with the same code", async () => {
    const harness = await runHarness({ plugins: [extra()], script: ["Hello.", "Hello again."] });
    harness.start();
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    expect((await harness.log()).match(/core\/p/g)).toHaveLength(2);
  });
});

describe("a later pickup", () => {
  const changed = async (plugin: Plugin, system?: string) => {
    const harness = await createHarness({ plugins: [extra()], script: ["Hello.", "Hello again."] });
    const { worker } = harness.start();
    await harness.rest();
    void worker.stop();
    await harness.use({ plugins: [plugin], ...(system === undefined ? {} : { system }) });
    harness.start();
    await harness.post({ type: "Say", text: "again" });
    await harness.pass(5_000);
    return harness;
  };

  it("records another version or another source of a plugin, and runs", async () => {
    const harness = await changed(extra({ version: "2" }));
    expect(await harness.log(6)).toBe(
      lines(`
        7 Waiting on=input outcome=completed detail={answer: Hello.}
        8 ExtensionRecorded core/plugins
        9 InputTaken items=[Say "again"] through=2
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "Hello again." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "Hello again."}
      `),
    );
  });

  it("keeps the prompts of the first, so that the cache holds", async () => {
    const harness = await changed(extra({ part: "Be long." }), "Do as you like.");
    expect(await harness.log(6)).toBe(
      lines(`
        7 Waiting on=input outcome=completed detail={answer: Hello.}
        8 InputTaken items=[Say "again"] through=2
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "Hello again." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "Hello again."}
      `),
    );
    expect(harness.sent[1]?.request.system).toEqual(harness.sent[0]?.request.system);
  });

  it("does not happen in a process that lacks one of its plugins by name", async () => {
    const harness = await changed({ name: "other", version: "1" });
    expect(await harness.log(7)).toBe("");
    expect(harness.claims).toHaveLength(1);
    await harness.use({ plugins: [extra()] });
    harness.start();
    await harness.rest();
    expect(await harness.log(7)).toBe(
      lines(`
        8 InputTaken items=[Say "again"] through=2
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "Hello again." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "Hello again."}
      `),
    );
  });

  it("is held where only another agent of the process has the plugin", async () => {
    const harness = await createHarness({ plugins: [extra()], script: ["Hello."] });
    const { worker } = harness.start();
    await harness.rest();
    void worker.stop();
    const other = harness.agent;
    await harness.use({ plugins: [] });
    harness.start({
      ports: {
        agents: new Map([
          ["harnessed", harness.agent],
          ["other", other],
        ]),
      },
    });
    await harness.post({ type: "Say", text: "again" });
    await harness.until(() => harness.ends.includes("held"));
    expect((await harness.row()).held?.reason).toBe("agent harnessed lacks what the task runs with: extra");
    expect(await harness.log(7)).toBe("");
  });
});

describe("a changed model", () => {
  it("is used from the next call on", async () => {
    const asked: string[] = [];
    const harness = await createHarness({});
    harness.start({
      ports: {
        model: (name) => {
          asked.push(name);
          const message = { parts: [text(`I am ${name}.`)] };
          return {
            name,
            contextTokens: null,
            async *stream() {
              yield { type: "reply", reply: { message, stopReason: "end_turn", tokens: "unknown" } };
            },
          };
        },
      },
    });
    await harness.rest();
    await harness.post({ type: "Reconfigure", settings: { model: "larger" } });
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelReplied "I am script." stop_reason=end_turn
        7 Waiting on=input outcome=completed detail={answer: "I am script."}
        8 InputTaken items=[Reconfigure {settings: {model: larger}}, Say "again"] through=3
        9 ExtensionRecorded core/config {settings: {model: larger}, by: person:ada}
        10 ModelCalled model=larger request_hash=B
        11 ModelReplied "I am larger." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "I am larger."}
      `),
    );
    expect(new Set(asked)).toEqual(new Set(["script", "larger"]));
  });

  it("is the owner's to choose, and nobody else's", async () => {
    const harness = await runHarness({});
    await harness.post({ type: "Reconfigure", settings: { model: "mine" } }, "person:eve");
    await harness.rest();
    expect(await harness.log(7)).toBe(
      lines(`
        8 InputTaken items=[Reconfigure {settings: {model: mine}} refused=not_owner] through=2
        9 Waiting on=input outcome=completed detail={answer: done}
      `),
    );
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    expect((await harness.events()).some(({ event }) => event.type === "ModelCalled" && event.model === "mine")).toBe(
      false,
    );
  });
});
