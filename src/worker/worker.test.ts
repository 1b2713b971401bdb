import { describe, expect, it } from "vitest";
import { ModelQueue } from "../model/queue.ts";
import type { Value } from "../core/project.ts";
import type { Tool } from "../plugins/plugin.ts";
import { StoreError, type Store } from "../store/store.ts";
import type { WorkerStatus } from "./status.ts";
import type { Worker } from "./worker.ts";
import { call } from "../testing/given.ts";
import { TASK, createHarness, runHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";

const config = { model: "script" };
const createTask = (harness: Harness, taskId: string, settings: object = {}, owner = "person:ada"): Promise<void> =>
  harness.system.create(taskId, {
    owner,
    agent: "harnessed",
    config: { ...config, ...settings },
    objective: "do it",
    mode: "conversation",
    onInterrupt: "continue",
  });

const oneShot = { agent: "harnessed", config, objective: "do it", mode: "oneShot", onInterrupt: "continue" } as const;

/** A tool that takes a second. */
const slow = (harness: () => Harness, effect: Tool["effect"] = "read"): Tool =>
  toolOf("look", effect, {
    execute: async (_, { signal }) =>
      harness()
        .sleep(1_000, signal)
        .then(() => "looked"),
  });

const lookingSlowly = async (more: Partial<HarnessOptions> = {}): Promise<Harness> => {
  const harness: Harness = await createHarness({
    tools: [slow(() => harness)],
    script: [[call("look")], "It is done."],
    ...more,
  });
  return harness;
};

/** Lets things happen until the promise resolves. */
const settled = async (harness: Harness, promise: Promise<void>): Promise<void> => {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  await harness.until(() => done);
};

describe("a worker", () => {
  it("runs so many tasks at once, and no more", async () => {
    let [running, most] = [0, 0];
    const look = toolOf("look", "read", {
      execute: async () => {
        running += 1;
        most = Math.max(most, running);
        await harness.sleep(1_000);
        running -= 1;
        return "looked";
      },
    });
    const harness: Harness = await createHarness({ tools: [look], script: [[call("look")], "It is done."] });
    for (const taskId of ["two", "three", "four", "five"]) await createTask(harness, taskId);
    const { worker } = harness.start({ worker: { concurrency: 3 } });
    await settled(harness, worker.idle());
    expect(most).toBe(3);
    expect(harness.ends).toEqual(["parked", "parked", "parked", "parked", "parked"]);
    expect(worker.running).toEqual(new Set());
  });

  it("claims more at once while there is more to do, and never more than it has places for", async () => {
    const harness = await lookingSlowly();
    for (let n = 2; n <= 9; n += 1) await createTask(harness, `ada ${String(n)}`);
    const { claim } = harness.store;
    const moments: number[] = [];
    let asked = 0;
    const counting: Store["claim"] = async (params) => {
      asked += 1;
      try {
        return await claim(params);
      } finally {
        // The first of a moment's claims to be answered sees how many were asked.
        if (asked > 0) moments.push(asked);
        asked = 0;
      }
    };
    const { worker } = harness.start({
      ports: { store: { ...harness.store, claim: counting } },
      worker: { concurrency: 8 },
    });
    await harness.until(() => harness.ran.length === 8);
    expect(moments).toEqual([1, 2, 4, 1]);
    expect(worker.running.size).toBe(8);
  });

  it("says what it runs", async () => {
    const harness = await lookingSlowly();
    const { worker } = harness.start();
    await harness.until(() => harness.ran.length === 1);
    expect(worker.running).toEqual(new Set([TASK]));
  });

  it("takes what has the highest priority first, only of its queues, and only the task that it is for", async () => {
    const harness = await createHarness({ script: ["Hello."] });
    await createTask(harness, "urgent", { priority: 5 });
    await createTask(harness, "nightly", { queue: "nightly" });
    const order = (): string[] => harness.claims.map(({ taskId }) => taskId);
    const first = harness.start({ worker: { queues: ["default"] } });
    await settled(harness, first.worker.idle());
    expect(order()).toEqual(["urgent", TASK]);
    void first.worker.stop();
    await createTask(harness, "other");
    const second = harness.start({ worker: { taskId: "nightly" } });
    await settled(harness, second.worker.idle());
    expect(order()).toEqual(["urgent", TASK, "nightly"]);
  });

  it("serves one principal after the other, though one of them has more to do and was there first", async () => {
    const harness = await createHarness({ script: ["Hello."] });
    for (const taskId of ["ada 2", "ada 3", "ada 4"]) await createTask(harness, taskId);
    for (const taskId of ["bob 1", "bob 2"]) await createTask(harness, taskId, {}, "person:bob");
    const { worker } = harness.start({ worker: { concurrency: 1 } });
    await settled(harness, worker.idle());
    const order = harness.claims.map(({ taskId }) => taskId);
    expect(order).toEqual([TASK, "bob 1", "ada 2", "bob 2", "ada 3", "ada 4"]);
  });

  it("gives a second place to another principal before the first gets it too", async () => {
    const harness = await lookingSlowly();
    for (const taskId of ["ada 2", "ada 3"]) await createTask(harness, taskId);
    await createTask(harness, "bob", {}, "person:bob");
    const { worker } = harness.start({ worker: { concurrency: 2 } });
    await harness.until(() => harness.ran.length === 2);
    expect(worker.running).toEqual(new Set([TASK, "bob"]));
  });

  it("does not touch a task of another host's workspace, or of an agent that it does not have", async () => {
    const harness = await createHarness({ settings: { workspace: { host: "elsewhere", path: "/work" } } });
    await harness.system.create("foreign", {
      agent: "foreign",
      config,
      objective: "do it",
      mode: "run",
      onInterrupt: "continue",
    });
    const { worker } = harness.start();
    await settled(harness, worker.idle());
    expect(harness.claims).toEqual([]);
    const there = harness.start({ worker: { host: "elsewhere" } });
    await settled(harness, there.worker.idle());
    expect(harness.claims.map(({ taskId }) => taskId)).toEqual([TASK]);
  });
});

describe("the status of a worker", () => {
  const statusOf = async (harness: Harness, worker: Worker): Promise<WorkerStatus> => {
    let status: WorkerStatus | undefined;
    await settled(
      harness,
      worker.status().then((told) => {
        status = told;
      }),
    );
    if (status === undefined) throw new Error("no status came");
    return status;
  };

  it("names what runs, counts claims and ends, and tells for how long something has been ready", async () => {
    const harness = await lookingSlowly();
    const { worker } = harness.start({ worker: { concurrency: 1 } });
    await harness.until(() => harness.ran.length === 1);
    const created = harness.now;
    await createTask(harness, "waits its turn");
    await createTask(harness, "of others", { workspace: { host: "elsewhere", path: "/work" } });
    await harness.pass(400);
    const busy = await statusOf(harness, worker);
    expect(busy).toMatchObject({
      state: "working",
      concurrency: 1,
      running: [{ taskId: TASK, agent: "harnessed", fence: 1, attempts: 1, since: harness.claims[0]?.now }],
      metrics: { claims: 1, ends: { parked: 0 } },
      modelCalls: { limit: 4, taken: 0, waiting: 0, waited: 0 },
    });
    expect(busy.lagMs).toBeGreaterThanOrEqual(400);
    expect(busy.lagMs).toBeLessThanOrEqual(harness.now - created);
    await settled(harness, worker.idle());
    const idle = await statusOf(harness, worker);
    expect(idle).toMatchObject({ running: [], lagMs: 0, metrics: { claims: 2, ends: { parked: 2 }, renewalsLost: 0 } });
    await settled(harness, worker.stop());
    expect((await statusOf(harness, worker)).state).toBe("stopped");
  });

  it("says of a task that it waits for a slot for its model call", async () => {
    const slots = new ModelQueue({ concurrency: 1, perPrincipal: 1 });
    const slot = slots.tryAcquire({ principal: "local:other", taskId: "other", background: false });
    const harness = await createHarness({ ports: { slots }, script: ["Hello."] });
    const { worker } = harness.start();
    await harness.until(() => slots.load().waiting === 1);
    const waiting = await statusOf(harness, worker);
    expect(waiting.running).toMatchObject([{ taskId: TASK, waitsForSlot: true }]);
    expect(waiting.modelCalls).toEqual({ limit: 1, taken: 1, waiting: 1, waited: 1 });
    slot?.();
    await harness.rest();
    expect(slots.load()).toMatchObject({ taken: 0, waiting: 0, waitingTasks: [] });
  });

  it("counts renewals that were confirmed, refused and not answered, and claims that failed", async () => {
    const answers = ["ok", "unavailable", "ok", "not_owner"] as const;
    let [renewals, claims] = [0, 0];
    const harness: Harness = await createHarness({
      tools: [
        toolOf("look", "read", { execute: (_, { signal }) => harness.sleep(60_000, signal).then(() => "looked") }),
      ],
      script: [[call("look")], "It is done."],
      limits: { leaseMs: 6_000 },
      checks: false,
    });
    const { claim, renew } = harness.store;
    const store: Store = {
      ...harness.store,
      claim: (params) => {
        claims += 1;
        return claims === 1 ? Promise.reject(new StoreError("unavailable", "gone")) : claim(params);
      },
      renew: async (params) => {
        const answer = answers[renewals] ?? "ok";
        renewals += 1;
        if (answer !== "ok") throw new StoreError(answer, "told so");
        await renew(params);
      },
    };
    const { worker } = harness.start({ ports: { store }, worker: { concurrency: 1 } });
    await harness.until(() => harness.ends.length === 1);
    const { metrics } = await statusOf(harness, worker);
    expect(metrics).toMatchObject({ claimsFailed: 1, renewals: 2, renewalsUnanswered: 1, renewalsLost: 1 });
    expect(metrics.ends.lost).toBe(1);
  });
});

describe("an idle worker", () => {
  it("wakes at once when something is posted", async () => {
    const harness = await runHarness({ script: ["Hello.", "Hello again."], worker: { pollMs: 60_000 } });
    const posted = harness.now;
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    const [, said] = (await harness.events()).filter(({ event }) => event.type === "InputTaken");
    expect((said?.at ?? Infinity) - posted).toBeLessThan(100);
  });

  it("finds by its poll what no hint told it of", async () => {
    const harness = await createHarness({ script: ["Hello.", "Hello again."] });
    const subscribe: Store["subscribe"] = () => () => undefined;
    harness.start({ ports: { store: { ...harness.store, subscribe } }, worker: { pollMs: 1_000 } });
    await harness.rest();
    const posted = harness.now;
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    const [, said] = (await harness.events()).filter(({ event }) => event.type === "InputTaken");
    expect((said?.at ?? Infinity) - posted).toBeLessThanOrEqual(1_000);
    expect((await harness.row()).outcome).toBe("completed");
  });

  it("finds by its poll a timer that has come due", async () => {
    const harness = await runHarness({ script: ["Hello."], checks: false });
    const dueAt = harness.now + 30_000;
    const task = harness.state.tasks.get(TASK);
    task?.rows.set("timers", new Map([["t1", new Map<string, Value>([["dueAt", dueAt]])]]));
    Object.assign(task ?? {}, { readyAt: dueAt });
    await harness.until(() => harness.claims.length === 2);
    expect(harness.claims[1]?.inbox[0]?.body).toContain('"TimerFired"');
  });

  it("asks the store no more often than it polls", async () => {
    const harness = await runHarness({ script: ["Hello."] });
    const claims = (): number => harness.system.scheduler.trace.filter(({ port }) => port === "store.claim").length;
    const before = claims();
    await harness.pass(60_000);
    expect(claims() - before).toBeLessThanOrEqual(61);
  });

  it("is not woken by what its own tasks write", async () => {
    const harness = await createHarness({
      tools: [toolOf("look", "read")],
      script: [...Array.from({ length: 20 }, () => [call("look")]), "It is done."],
    });
    harness.start({ worker: { concurrency: 4 } });
    await harness.rest();
    const claims = harness.system.scheduler.trace.filter(({ port }) => port === "store.claim").length;
    expect(harness.appends.length).toBeGreaterThan(40);
    expect(claims).toBeLessThan(6);
  });

  it("asks for what it was told of, and looks no further", async () => {
    const harness = await runHarness({ script: ["Hello.", "Hello again."], worker: { pollMs: 60_000 } });
    const claims = (): number => harness.system.scheduler.trace.filter(({ port }) => port === "store.claim").length;
    let before = claims();
    await createTask(harness, "another");
    await harness.rest();
    // It was found; once more when it was parked, for what may have come since it looked last.
    expect(claims() - before).toBe(2);
    before = claims();
    await harness.system.post("another", { type: "Close" });
    await harness.rest();
    expect((await harness.store.getTask({ taskId: "another" }))?.status).toBe("ended");
    expect(claims() - before).toBe(1);
  });

  it("finds by its poll what no hint told it of, also while hints of other tasks never let it rest", async () => {
    const harness = await createHarness({ script: ["Hello."] });
    const subscribe: Store["subscribe"] = (hint) =>
      harness.store.subscribe((taskId, only) => {
        if (taskId !== "quiet") hint(taskId, only);
      });
    harness.start({ ports: { store: { ...harness.store, subscribe } }, worker: { pollMs: 1_000 } });
    await harness.rest();
    await createTask(harness, "quiet", { priority: -1 });
    const posted = harness.now;
    for (let n = 0; n < 20 && !harness.claims.some(({ taskId }) => taskId === "quiet"); n += 1) {
      await harness.system.create(`busy ${String(n)}`, { ...oneShot, owner: "person:ada" });
      await harness.pass(300);
    }
    expect(harness.now - posted).toBeLessThan(2_000);
  });

  it("looks again when it comes to have room, for what it was told of while it had none", async () => {
    const harness = await lookingSlowly();
    const began = harness.now;
    harness.start({ worker: { pollMs: 600_000, concurrency: 1 } });
    await harness.until(() => harness.ran.length === 1);
    for (const taskId of ["two", "three"]) await createTask(harness, taskId);
    await harness.until(() => harness.ends.length === 3);
    expect(harness.now - began).toBeLessThan(10_000);
  });

  it("is idle once it has looked again: what was posted just before counts", async () => {
    const harness = await runHarness({ script: ["Hello.", "Hello again."], worker: { pollMs: 60_000 } });
    await harness.post({ type: "Say", text: "again" });
    const idle = harness.processes.flatMap(({ worker }) => [worker.idle(), worker.idle()]);
    await settled(
      harness,
      Promise.all(idle).then(() => undefined),
    );
    expect((await harness.row()).lastSeq).toBe(11);
  });

  it("is not idle for who asks while it looks, before it has looked again", async () => {
    const harness = await createHarness({ script: ["Hello.", "Hello again."] });
    let answers: Promise<void> | null = null;
    const asked = Promise.withResolvers<void>();
    const { claim } = harness.store;
    const slowly: Store["claim"] = async (params) => {
      const claimed = await claim(params);
      if (answers !== null) asked.resolve();
      await answers;
      return claimed;
    };
    const { worker } = harness.start({
      ports: { store: { ...harness.store, claim: slowly } },
      worker: { pollMs: 60_000 },
    });
    await harness.rest();
    const gate = Promise.withResolvers<void>();
    answers = gate.promise;
    const before = worker.idle();
    await asked.promise;
    await harness.post({ type: "Say", text: "again" });
    const after = worker.idle();
    gate.resolve();
    await settled(harness, before);
    await settled(harness, after);
    expect((await harness.row()).lastSeq).toBe(11);
  });

  it("is not idle while the store cannot be reached", async () => {
    let reachable = false;
    const harness = await createHarness({ script: ["Hello."] });
    const { claim } = harness.store;
    const { worker } = harness.start({
      ports: {
        store: {
          ...harness.store,
          claim: (params) => (reachable ? claim(params) : Promise.reject(new StoreError("unavailable", "gone"))),
        },
      },
    });
    let idle = false;
    void worker.idle().then(() => {
      idle = true;
    });
    await harness.pass(10_000);
    expect(idle).toBe(false);
    expect(harness.system.notes.at(-1)).toContain("cannot claim: gone");
    reachable = true;
    await harness.until(() => idle);
    expect((await harness.row()).outcome).toBe("completed");
  });
});

describe("a worker that stops", () => {
  it("lets the read finish, commits its result, gives the claim back, and cancels nothing", async () => {
    const harness = await lookingSlowly();
    const { worker } = harness.start();
    await harness.until(() => harness.ran.length === 1);
    await settled(harness, worker.stop());
    expect(harness.ends).toEqual(["stopped"]);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolFinished c6_0 "looked"
      `),
    );
    expect(await harness.row()).toMatchObject({ status: "running", claimedBy: null });
  });

  it("leaves the task ready for another at once, which does nothing twice", async () => {
    const harness: Harness = await lookingSlowly({ tools: [slow(() => harness, "write")] });
    const { worker } = harness.start();
    await harness.until(() => harness.ran.length === 1);
    await settled(harness, worker.stop());
    const stopped = harness.now;
    harness.start();
    await harness.rest();
    expect(harness.claims[1]?.now).toBe(stopped);
    expect(harness.ran).toHaveLength(1);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolFinished c6_0 "looked"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "It is done." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });

  it("claims nothing more, not even what an answer on its way brings", async () => {
    const harness = await createHarness({ script: ["Hello."] });
    const { worker } = harness.start();
    // The first claim is asked for, its answer is still to come.
    await settled(harness, worker.stop());
    await createTask(harness, "other");
    await harness.pass(5_000);
    expect(harness.claims.length).toBeLessThanOrEqual(1);
    expect((await harness.row()).claimedBy).toBeNull();
    expect(harness.sent).toEqual([]);
  });

  it("parks a turn that is over anyway", async () => {
    const harness = await createHarness({ script: ["Hello."] });
    const { worker } = harness.start();
    await harness.until(() => harness.sent.length === 1);
    await settled(harness, worker.stop());
    expect(harness.ends).toEqual(["parked"]);
    expect((await harness.row()).outcome).toBe("completed");
  });

  it("may be stopped twice, and is idle then", async () => {
    const harness = await lookingSlowly();
    const { worker } = harness.start();
    await harness.until(() => harness.ran.length === 1);
    await settled(
      harness,
      Promise.all([worker.stop(), worker.stop(), worker.idle()]).then(() => undefined),
    );
    expect(worker.running).toEqual(new Set());
  });
});

describe("two workers on one store", () => {
  it("run a task one at a time: nothing is written or done twice", async () => {
    const harness = await lookingSlowly();
    harness.start();
    harness.start();
    await harness.rest();
    expect(harness.claims).toHaveLength(1);
    expect(harness.ran).toHaveLength(1);
  });

  it("share what there is to do", async () => {
    const harness = await lookingSlowly();
    await createTask(harness, "two");
    const workers = [harness.start().worker, harness.start().worker];
    await harness.until(() => harness.ran.length === 2);
    expect(workers.map(({ running }) => running.size)).toEqual([1, 1]);
    expect(new Set(harness.ran.map(({ actor }) => actor)).size).toBe(2);
    await settled(
      harness,
      Promise.all(workers.map((worker) => worker.idle())).then(() => undefined),
    );
  });

  it("take over from one another within a lease and a poll", async () => {
    const harness = await lookingSlowly({ restarts: false });
    const first = harness.start();
    harness.start();
    await harness.until(() => harness.ran.length === 1);
    const died = harness.now;
    harness.system.scheduler.crash(first.actor);
    await harness.rest();
    expect((harness.claims[1]?.now ?? Infinity) - died).toBeLessThanOrEqual(5_000 + 1_000);
    expect(harness.claims[1]).toMatchObject({ fence: 2, attempts: 2 });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolStarted c6_0 look {} attempt=2
        9 ToolFinished c6_0 "looked"
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });
});

describe("a task that kills its worker again and again", () => {
  const deadly = (): Promise<Harness> =>
    createHarness({
      tools: [toolOf("look", "read")],
      script: [[call("look")], "It is done."],
      plan: ({ port }) => (port === "tool.look" && deadlyNow ? "crash_before" : null),
      worker: { maxAttempts: 3 },
    });
  let deadlyNow = true;

  it("is held after so many claims, with the reason, and tried again once at a time, later and later", async () => {
    deadlyNow = true;
    const harness = await deadly();
    harness.start();
    const holds: number[] = [];
    for (let count = 1; count <= 4; count += 1) {
      await harness.until(() => harness.ends.length === count);
      holds.push(harness.now);
    }
    expect(harness.ends).toEqual(["held", "held", "held", "held"]);
    expect((await harness.row()).held).toMatchObject({
      count: 4,
      reason: "its last holder did not give it back",
    });
    // Three deaths before the first hold, then one for each.
    expect(harness.processes).toHaveLength(1 + 3 + 3);
    const pauses = holds.slice(1).map((at, index) => at - (holds[index] ?? 0));
    pauses.forEach((pause, index) => expect(pause).toBeGreaterThanOrEqual(1_000 * 2 ** index + 5_000));
    deadlyNow = false;
    await harness.rest();
    expect((await harness.row()).outcome).toBe("completed");
    expect((await harness.row()).held).toBeNull();
  });

  it("is not one that many processes died with, when holders gave it back in between", async () => {
    deadlyNow = true;
    const harness = await deadly();
    harness.start();
    await harness.until(() => harness.processes.length === 3);
    deadlyNow = false;
    await harness.rest();
    expect(harness.ends).toEqual(["parked"]);
    expect(await harness.log(9)).toBe(
      lines(`
        10 ToolFinished c6_0 "look is done"
        11 ModelCalled model=script request_hash=A
        12 ModelReplied "It is done." stop_reason=end_turn
        13 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });
});

describe("a run that has lost its claim", () => {
  it("takes a place of its own until it sees it, beside the run of the same task that follows", async () => {
    const harness = await lookingSlowly({
      plan: (() => {
        let appends = 0;
        return ({ port }) => {
          if (port === "store.append") appends += 1;
          return port === "store.append" && appends === 3
            ? "delay"
            : port === "store.renew" && appends === 3
              ? "fail"
              : null;
        };
      })(),
    });
    const { worker } = harness.start({ worker: { concurrency: 2 } });
    await harness.until(() => harness.claims.length === 2);
    expect(worker.running).toEqual(new Set([TASK]));
    await settled(harness, worker.stop());
    expect(harness.ends).toHaveLength(2);
    expect(harness.ends).toContain("lost");
    harness.start();
    await harness.rest();
    expect((await harness.row()).outcome).toBe("completed");
  });
});
