import { describe, expect, it } from "vitest";
import type { NewItem } from "../core/items.ts";
import { StoreError, type Store } from "../store/store.ts";
import { call } from "../testing/given.ts";
import { at, before, both } from "../testing/fault-plans.ts";
import { createHarness, runHarness, toolOf, type Harness } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";
import type { Fault } from "../testing/simulation/scheduler.ts";

/** A read, a write and an answer. */
const task = {
  tools: [toolOf("look", "read"), toolOf("send", "write")],
  script: [[call("look")], [call("send")], "It is done."],
};

const undisturbed = lines(`
  1 TaskCreated agent=harnessed mode=conversation owner=person:ada
  2 ExtensionRecorded core/prompts
  3 ExtensionRecorded core/plugins
  4 InputTaken items=[Say "do it"] through=1
  5 ModelCalled model=script request_hash=A
  6 ModelReplied tool_use look {} stop_reason=tool_use
  7 ToolStarted c6_0 look {}
  8 ToolFinished c6_0 "look is done"
  9 ModelCalled model=script request_hash=B
  10 ModelReplied tool_use send {} stop_reason=tool_use
  11 ToolStarted c10_0 send {}
  12 ToolFinished c10_0 "send is done"
  13 ModelCalled model=script request_hash=C
  14 ModelReplied "It is done." stop_reason=end_turn
  15 Waiting on=input outcome=completed detail={answer: "It is done."}
`);

describe("an append whose answer is lost", () => {
  it.each([1, 2, 3, 4, 5, 6])("is recognised as its own when it is sent again: append %i", async (nth) => {
    const harness = await runHarness({ ...task, plan: at("store.append", "lose_answer", nth) });
    expect(await harness.log()).toBe(undisturbed);
    expect(harness.processes).toHaveLength(1);
    expect(harness.claims).toHaveLength(1);
    expect(harness.ran).toHaveLength(2);
  });

  it("is recognised also when the log cannot be read at first", async () => {
    const harness = await runHarness({
      ...task,
      plan: both(at("store.append", "lose_answer", 4), at("store.read", "fail", 1)),
    });
    expect(await harness.log()).toBe(undisturbed);
    expect(harness.claims).toHaveLength(1);
  });

  it("is followed by a fresh look at the inbox: what came before it calls the write off", async () => {
    const harness: Harness = await createHarness({
      ...task,
      plan: both(
        before("store.append", 4, () => harness.post({ type: "Interrupt" })),
        at("store.append", "lose_answer", 4),
      ),
    });
    harness.start();
    await harness.rest();
    expect(await harness.log(10)).toBe(
      lines(`
        11 ToolStarted c10_0 send {}
        12 InputTaken items=[Interrupt] through=2
        13 ToolFinished c10_0 skipped "Not run: it was called off before it started. Nothing happened."
        14 Waiting on=resume outcome=paused reason=interrupted
      `),
    );
    expect(harness.ran.map(({ name }) => name)).toEqual(["look"]);
  });
});

describe("an append that fails", () => {
  it.each([1, 2, 3, 4, 5, 6])("is sent again: append %i", async (nth) => {
    const harness = await runHarness({ ...task, plan: at("store.append", "fail", nth) });
    expect(await harness.log()).toBe(undisturbed);
    expect(harness.claims).toHaveLength(1);
  });

  it("ends the claim when it fails for too long, and leaves the log unharmed", async () => {
    let fails = true;
    const harness = await createHarness({
      ...task,
      plan: ({ port, actor }) => (port === "store.append" && actor === "process 1" && fails ? "fail" : null),
      limits: { storeRetryMs: 20_000 },
    });
    harness.start();
    await harness.until(() => harness.ends.length > 0);
    expect(harness.ends).toEqual(["lost"]);
    expect(await harness.events()).toHaveLength(1);
    fails = false;
    await harness.rest();
    expect(await harness.log()).toBe(undisturbed);
  });

  it("tells what still runs beside it to stop, once the claim is given up", async () => {
    let stopped = false;
    const slow = toolOf("slow", "read", {
      execute: async (_, { signal }) => {
        await harness.sleep(3_600_000, signal).catch(() => {
          stopped = true;
        });
        return "slowly";
      },
    });
    const harness: Harness = await createHarness({
      tools: [toolOf("look", "read"), slow],
      script: [[call("slow"), call("look")], "It is done."],
      plan: ({ port }) => (port === "store.append" && harness.appends.length === 2 ? "fail" : null),
      restarts: false,
      limits: { leaseMs: 60_000 },
    });
    harness.start({ worker: { concurrency: 1 } });
    await harness.until(() => harness.ends.length === 1);
    expect(harness.ends).toEqual(["lost"]);
    expect(stopped).toBe(true);
  });

  it("is no end of the claim while another holds the task, but that one goes on alone", async () => {
    const harness = await createHarness({
      ...task,
      plan: ({ port, actor }) => (port === "store.append" && actor === "process 1" ? "fail" : null),
    });
    harness.start();
    await harness.pass(1_000);
    const other = harness.start();
    await harness.rest();
    expect(await harness.log()).toBe(undisturbed);
    expect(harness.claims.map(({ fence }) => fence)).toEqual([1, 2]);
    expect(other.actor.alive).toBe(true);
  });
});

describe("any other answer that is lost", () => {
  it.each<[string, Fault]>([
    ["store.claim", "lose_answer"],
    ["store.renew", "lose_answer"],
    ["store.release", "lose_answer"],
    ["store.release", "fail"],
    ["store.getTask", "fail"],
  ])("leaves the same log: %s %s", async (port, fault) => {
    const harness = await runHarness({ ...task, plan: at(port, fault) });
    expect(await harness.log()).toBe(undisturbed);
  });

  it("of a post is the same item when it is posted again", async () => {
    const harness = await runHarness(task);
    const post = { taskId: "task", by: "person:ada", key: "k", item: { type: "Say", text: "more" } } as const;
    const [first, again] = [await harness.store.post(post), await harness.store.post(post)];
    expect(again).toEqual({ ...first, duplicate: true });
    await harness.rest();
    expect(await harness.log(15)).toBe(
      lines(`
        16 InputTaken items=[Say "more"] through=2
        17 ModelCalled model=script request_hash=A
        18 ModelReplied "done" stop_reason=end_turn
        19 Waiting on=input outcome=completed detail={answer: done}
      `),
    );
  });
});

describe("an inbox that moves on", () => {
  const meanwhile = async (port: string, nth: number, item: NewItem, more: object = {}): Promise<Harness> => {
    const harness: Harness = await createHarness({
      script: ["Hello.", "Hello again."],
      plan: before(port, nth, () => harness.post(item)),
      ...more,
    });
    harness.start();
    await harness.rest();
    return harness;
  };

  it("refuses the Waiting: what came is taken with the reply that was pending", async () => {
    const harness = await meanwhile("store.append", 2, { type: "Say", text: "wait" });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelReplied "Hello." stop_reason=end_turn
        7 InputTaken items=[Say "wait"] through=2
        8 ModelCalled model=script request_hash=B
        9 ModelReplied "Hello again." stop_reason=end_turn
        10 Waiting on=input outcome=completed detail={answer: "Hello again."}
      `),
    );
    expect(harness.appends.slice(1)).toEqual([
      ["ModelReplied", "InputTaken", "ModelCalled"],
      ["ModelReplied", "Waiting"],
    ]);
  });

  it("refuses the release: the same claim goes on", async () => {
    const harness = await meanwhile("store.release", 1, { type: "Say", text: "wait" });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelReplied "Hello." stop_reason=end_turn
        7 Waiting on=input outcome=completed detail={answer: Hello.}
        8 InputTaken items=[Say "wait"] through=2
        9 ModelCalled model=script request_hash=B
        10 ModelReplied "Hello again." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "Hello again."}
      `),
    );
    expect(harness.claims).toHaveLength(1);
  });

  it("refuses the end of a one-shot, which goes on with what was said", async () => {
    const harness = await meanwhile("store.append", 2, { type: "Say", text: "wait" }, { mode: "oneShot" });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelReplied "Hello." stop_reason=end_turn
        7 InputTaken items=[Say "wait"] through=2
        8 ModelCalled model=script request_hash=B
        9 ModelReplied "Hello again." stop_reason=end_turn
        10 TaskEnded outcome=done answer="Hello again."
      `),
    );
  });

  it("is taken whole before any other step: 2,500 items in three events", async () => {
    const harness = await createHarness({ script: ["Hello."] });
    for (let count = 1; count < 2_500; count += 1) await harness.post({ type: "Say", text: String(count) });
    harness.start();
    await harness.rest();
    expect((await harness.log(3)).replaceAll(/items=.* through/g, "items=… through")).toBe(
      lines(`
        4 InputTaken items=… through=1000
        5 InputTaken items=… through=2000
        6 InputTaken items=… through=2500
        7 ModelCalled model=script request_hash=A
        8 ModelReplied "Hello." stop_reason=end_turn
        9 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
    expect(harness.sent[0]?.request.messages).toHaveLength(2_500);
  });
});

describe("a store that says what must not be", () => {
  it("ends the claim without another word", async () => {
    let damaged = true;
    const harness = await createHarness(task);
    const append: Store["append"] = (params) =>
      damaged ? Promise.reject(new StoreError("damaged", "a page is damaged")) : harness.store.append(params);
    harness.start({ ports: { store: { ...harness.store, append } } });
    await harness.until(() => harness.ends.length > 0);
    expect(harness.ends).toEqual(["lost"]);
    damaged = false;
    await harness.rest();
    expect(await harness.log()).toBe(undisturbed);
  });
});
