// The people around a task, as front ends meet them: steering, collaborators, moves, and places that are closed.
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Access } from "../access/access.ts";
import { createLocalAccess } from "../access/local/local.ts";
import type { NewItem } from "../core/items.ts";
import { textOf } from "../core/messages.ts";
import { called, core, replied, say as words, waiting } from "../testing/given.ts";
import { before } from "../testing/fault-plans.ts";
import { TASK, createHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { OWNER } from "../testing/simulation/system.ts";
import { macUnder, nodeHasher } from "../store/node-hasher.ts";
import type { Store } from "../store/store.ts";
import { systemRandom } from "../runtime.ts";
import { createCorrections } from "../corrections.ts";
import type { Client } from "./client.ts";
import { createTask } from "./create-task.ts";
import { findTask } from "./find-task.ts";
import { listTasks } from "./list-tasks.ts";
import { post } from "./post.ts";
import { followLog, readLog } from "./read-log.ts";
import { showPlan } from "./show-plan.ts";
import { showRequest } from "./show-request.ts";
import { showTask } from "./show-task.ts";

const FRIEND = "person:bob";
const STRANGER = "person:eve";
const HERE = "here";
const THERE = "there";

const everywhere = createLocalAccess({ places: { [HERE]: [OWNER, FRIEND, STRANGER], [THERE]: [OWNER, FRIEND] } });

const clientOf = (store: Store, principal: string, more: Partial<Client> = {}): Client => ({
  ...{ store, access: everywhere, hasher: nodeHasher, mac: macUnder, principal, frontEnd: "test", place: HERE },
  random: { ...systemRandom(), secret: () => new Uint8Array(randomBytes(32)) },
  ...more,
});

const call = (name: string) => ({ type: "call", name, input: {} }) as const;

/** A task of one write and one look, and the people around it. */
const world = async (options: Partial<HarnessOptions> = {}) => {
  const harness = await createHarness({
    tools: [
      toolOf("send", "write"),
      toolOf("look", "read"),
      toolOf("ask", "internal", { execute: () => ({ park: { on: "answer" } }) }),
    ],
    script: [[call("send"), call("look")], "done", "again", "once more"],
    ...options,
  });
  const of = (principal: string, more: Partial<Client> = {}) => clientOf(harness.store, principal, more);
  const say = (client: Client, item: NewItem, key?: string) =>
    post(client, { taskId: TASK, item, ...(key === undefined ? {} : { key }) });
  return { harness, of, say, owner: of(OWNER), friend: of(FRIEND), stranger: of(STRANGER) };
};

const steer = (text: string): NewItem => ({ type: "Steer", text });
const name = (principal: string): NewItem => ({ type: "Collaborate", principal, change: "add" });
const dismiss = (principal: string): NewItem => ({ type: "Collaborate", principal, change: "remove" });
const move = (place: string, conversation = "two"): NewItem => ({
  type: "Handoff",
  origin: { frontEnd: "test", place, conversation, private: false },
});

const refused = async (work: Promise<unknown>, code: string, says = ""): Promise<void> => {
  await expect(work).rejects.toMatchObject({ code, message: expect.stringContaining(says) });
};

/** Runs to the model's second call: the turn is at work, and stays so until the test lets it go on. */
const atWork = async (harness: Harness): Promise<void> => {
  harness.start();
  await harness.until(() => harness.ran.length > 0);
};

const wordsSent = (harness: Harness): string => JSON.stringify(harness.sent.map(({ request }) => request.messages));

const itemsTaken = async (harness: Harness) =>
  (await harness.events()).flatMap(({ event }) => (event.type === "InputTaken" ? event.items : []));

const verbs: readonly NewItem[] = [
  { type: "Say", text: "x" },
  { type: "Answer", question: "c6_0", text: "x" },
  { type: "Interrupt" },
  { type: "Cancel" },
  { type: "Close" },
  { type: "Resume" },
  { type: "Resolve", callId: "c6_0", outcome: "done", verification: "v" },
  { type: "Verify", callId: "c6_0" },
  { type: "Reconfigure", settings: { model: "n" } },
  move(THERE),
  name(STRANGER),
  dismiss(FRIEND),
];

/** A task at work whose owner named the friend, and the moment at which the model is asked for the second time. */
const named = async (options: Partial<HarnessOptions> = {}) => {
  let reached = (): void => undefined;
  const moment = new Promise<void>((resolve) => (reached = resolve));
  const held = Promise.withResolvers<void>();
  const all = await world({
    script: [
      [call("look")],
      async () => {
        reached();
        await held.promise;
        return [call("send")];
      },
      "done",
      "again",
    ],
    ...options,
  });
  await all.say(all.owner, name(FRIEND));
  all.harness.start();
  const running = all.harness.until(() => all.harness.sent.length === 2);
  await running;
  await moment;
  return { ...all, goOn: () => held.resolve() };
};

describe("a collaborator", () => {
  test("steers the task that names them, by its whole id, and is remembered", async () => {
    const { harness, friend, owner, say, goOn } = await named();
    await refused(post(friend, { taskId: TASK.slice(0, 2), item: steer("so") }), "not_found");
    expect(await say(friend, steer("rather so"))).toMatchObject({ duplicate: false });
    goOn();
    await harness.rest();
    expect(wordsSent(harness)).toContain("rather so");
    expect(await showTask(owner, TASK)).toMatchObject({ collaborators: [FRIEND], steeredByOther: true });
    expect(harness.ran.map((each) => each.name)).toEqual(["look"]);
  });

  test("is a stranger to every other verb, and to everything that reads", async () => {
    const { harness, friend, stranger, say, goOn } = await named();
    for (const client of [friend, stranger]) {
      for (const item of verbs) {
        const message = `${client.principal} has no task ${TASK} in memory`;
        await expect(say(client, item), item.type).rejects.toMatchObject({ code: "not_found", message });
      }
      await refused(findTask(client, TASK), "not_found");
      await refused(showTask(client, TASK), "not_found");
      await refused(showPlan(client, TASK), "not_found");
      await refused(showRequest(client, TASK, 5), "not_found");
      await refused(readLog(client, TASK), "not_found");
      const following = followLog(client, { taskId: TASK, after: 0, signal: new AbortController().signal });
      await refused(following.next(), "not_found");
      expect(await listTasks(client)).toEqual([]);
    }
    await refused(say(stranger, steer("no")), "not_found", `${STRANGER} has no task ${TASK}`);
    goOn();
    await harness.rest();
    expect((await itemsTaken(harness)).map((item) => item.type)).toEqual(["Say", "Collaborate"]);
  });

  test("steers no task at rest, and no longer once dismissed", async () => {
    const { harness, owner, friend, say, goOn } = await named();
    goOn();
    await harness.rest();
    await refused(say(friend, steer("more")), "refused", "is at rest");
    await say(owner, dismiss(FRIEND));
    await harness.rest();
    await refused(say(friend, steer("more")), "not_found");
    expect((await showTask(owner, TASK)).collaborators).toEqual([]);
  });

  test("whose correction was accepted and who is dismissed before it is taken adds nothing", async () => {
    const { harness, owner, friend, say, goOn } = await named();
    await say(owner, dismiss(FRIEND));
    await say(friend, steer("too late"));
    goOn();
    await harness.rest();
    expect(await itemsTaken(harness)).toMatchObject([
      {},
      {},
      { type: "Collaborate" },
      { type: "Steer", refused: "not_collaborator" },
    ]);
    expect(wordsSent(harness)).not.toContain("too late");
    expect((await showTask(owner, TASK)).steeredByOther).toBe(false);
    expect(harness.ran.map((each) => each.name)).toEqual(["look", "send"]);
  });

  test("whose correction came before the dismissal is heard", async () => {
    const { harness, owner, friend, say, goOn } = await named();
    await say(friend, steer("in time"));
    await say(owner, dismiss(FRIEND));
    goOn();
    await harness.rest();
    expect(wordsSent(harness)).toContain("in time");
    expect(await showTask(owner, TASK)).toMatchObject({ collaborators: [], steeredByOther: true });
  });

  test("who loses access, or of whom nobody can say, between the two checks adds nothing", async () => {
    for (const answer of [() => Promise.resolve(false), () => Promise.reject(new Error("down"))]) {
      const access: Access = { may: (question) => (question.principal === FRIEND ? answer() : Promise.resolve(true)) };
      let asked: Access = everywhere;
      const { harness, owner, friend, say, goOn } = await named({
        ports: { access: { may: (each) => asked.may(each) } },
      });
      await say(friend, steer("in vain"));
      asked = access;
      goOn();
      await harness.rest();
      expect((await itemsTaken(harness)).at(-1)).toMatchObject({ type: "Steer", refused: "no_access" });
      expect(wordsSent(harness)).not.toContain("in vain");
      expect((await showTask(owner, TASK)).steeredByOther).toBe(false);
    }
  });

  test("is refused when the correction is accepted, without access to the place", async () => {
    const { of, say, goOn, harness } = await named();
    const access = createLocalAccess({ places: { [HERE]: [OWNER] } });
    await refused(say(of(FRIEND, { access }), steer("so")), "refused", `${FRIEND} may not`);
    await refused(say(of(FRIEND, { place: THERE }), steer("so")), "not_found");
    goOn();
    await harness.rest();
  });
});

describe("naming a collaborator", () => {
  test("takes one that may act in the place, once, and never the owner or the kernel", async () => {
    const { harness, owner, say } = await world();
    await refused(say(owner, name("person:zoe")), "refused", "person:zoe, who may not act in here");
    await refused(say(owner, name(OWNER)), "refused", "its owner needs no grant");
    await refused(say(owner, name("core:core")), "refused", "of the kind core");
    await refused(say(owner, name("bob")), "refused", "as kind:id");
    await refused(say(owner, dismiss(FRIEND)), "refused", `has no collaborator ${FRIEND}`);
    await say(owner, name(FRIEND));
    await say(owner, name(FRIEND));
    harness.start();
    await harness.rest();
    expect((await showTask(owner, TASK)).collaborators).toEqual([FRIEND]);
    const records = (await harness.events()).filter(({ event }) => "kind" in event && event.kind === "collaborator");
    expect(records).toHaveLength(1);
  });

  test("adds nobody who may not act in the place when it is taken", async () => {
    const { harness, owner, say } = await world({
      ports: { access: createLocalAccess({ places: { [HERE]: [OWNER] } }) },
    });
    await say(owner, name(FRIEND));
    harness.start();
    await harness.rest();
    expect((await itemsTaken(harness)).at(-1)).toMatchObject({ type: "Collaborate", refused: "no_access" });
    expect((await showTask(owner, TASK)).collaborators).toEqual([]);
  });

  test("is refused for a private task", async () => {
    const { owner } = await world();
    const { taskId } = await createTask(owner, {
      ...{ agent: "a", settings: { model: "m" }, objective: "o", mode: "conversation", onInterrupt: "continue" },
      private: true,
    });
    await refused(post(owner, { taskId, item: name(FRIEND) }), "refused", "is private");
  });
});

describe("a move", () => {
  test("takes the task to the new place alone, private, without its collaborators", async () => {
    const { harness, of, owner, friend, say, goOn } = await named();
    const followed: number[] = [];
    const following = (async () => {
      const { signal } = new AbortController();
      for await (const { seq } of followLog(owner, { taskId: TASK, after: 0, signal })) followed.push(seq);
    })();
    await say(owner, move(THERE));
    goOn();
    await harness.rest();
    await following;
    const there = of(OWNER, { place: THERE });
    expect(await showTask(there, TASK)).toMatchObject({
      origin: { frontEnd: "test", place: THERE, conversation: "two", private: true },
      collaborators: [],
    });
    const seqs = (await harness.events()).flatMap(({ seq, event }) =>
      "kind" in event && event.kind === "handoff" ? seq : [],
    );
    expect(followed.at(-1)).toBe(seqs[0]);
    for (const client of [owner, friend, of(FRIEND, { place: THERE })]) {
      await refused(showTask(client, TASK), "not_found");
      await refused(say(client, { type: "Say", text: "x" }), "not_found");
    }
    await refused(say(of(FRIEND, { place: THERE }), steer("so")), "not_found");
    expect(await listTasks(owner)).toEqual([]);
    expect((await listTasks(there)).map(({ row }) => row.taskId)).toEqual([TASK]);
    await refused(say(there, name(FRIEND)), "refused", "is private");
    await say(there, { type: "Say", text: "over here" });
    await harness.rest();
    expect(wordsSent(harness)).toContain("over here");
  });

  test("is the owner's, to a place that is open to them, and not to where it lives", async () => {
    const { owner, friend, say } = await world();
    await refused(say(friend, move(THERE)), "not_found");
    await refused(say(owner, move("nowhere")), "refused", `${OWNER} may not act there`);
    await refused(say(owner, move(HERE)), "refused", "lives in here already");
  });

  test("needs the task's sources to be open to the owner there, when it is accepted and when it is taken", async () => {
    const look = toolOf("look", "read", {
      execute: () => ({ content: "x", sources: [{ id: "diary" }, { id: "board" }] }),
    });
    const diary = createLocalAccess({ places: { [HERE]: "everyone", [THERE]: "everyone" }, sources: { diary: [] } });
    let asked: Access = everywhere;
    const access: Access = { may: (question) => asked.may(question) };
    const { harness, of, say } = await world({ tools: [look], script: [[call("look")], "done"], ports: { access } });
    harness.start();
    await harness.rest();
    await refused(
      say(of(OWNER, { access: diary }), move(THERE)),
      "refused",
      "may not read there what it was given: diary",
    );
    asked = diary;
    await say(of(OWNER), move(THERE));
    await harness.rest();
    expect((await itemsTaken(harness)).at(-1)).toMatchObject({ type: "Handoff", refused: "no_source_access" });
    expect((await harness.row()).origin).toMatchObject({ place: HERE, private: false });
    asked = everywhere;
    await say(of(OWNER), move(THERE));
    await harness.rest();
    expect((await harness.row()).origin).toMatchObject({ place: THERE, private: true });
  });

  test("of two, from front ends at once, is one: the other is told, and may not follow", async () => {
    const { harness, owner, say } = await world();
    const moves = await Promise.allSettled([say(owner, move(THERE, "a")), say(owner, move(THERE, "b"))]);
    expect(moves.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const [lost] = moves.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
    expect(lost).toMatchObject({ code: "refused", message: `task ${TASK} is being moved to another place already` });
    harness.start();
    await harness.rest();
    await refused(say(owner, move(THERE, "c")), "not_found");
    expect((await itemsTaken(harness)).filter((item) => item.type === "Handoff")).toHaveLength(1);
  });

  test("of two with a redaction between them is one too, although nothing can be compared", async () => {
    const { harness, owner, say } = await world();
    await say(owner, move(THERE, "a"));
    await harness.store.redact({ taskId: TASK, seqs: [1], secret: harness.system.chance.bytes(32) });
    await refused(say(owner, move(THERE, "b")), "refused", "is being moved to another place already");
  });

  test("posted again after a lost answer is the same one", async () => {
    const { owner, say } = await world();
    const first = await say(owner, move(THERE));
    expect(await say(owner, move(THERE), "another key")).toEqual({ ...first, duplicate: true });
  });

  test("is overtaken by none of what was posted from the old place: a post that comes after it is refused", async () => {
    const { harness, owner, say } = await world();
    await say(owner, move(THERE));
    // The old place is looked at, and then the move is taken before the post commits.
    const slow = clientOf(
      {
        ...harness.store,
        post: async (params) => {
          harness.start();
          await harness.rest();
          return harness.store.post(params);
        },
      },
      OWNER,
    );
    await refused(say(slow, { type: "Say", text: "from behind" }), "not_found");
    expect(wordsSent(harness)).not.toContain("from behind");
  });

  test("is refused while an action is unknown", async () => {
    const send = toolOf("send", "write", { execute: () => Promise.reject(new Error("hung up")) });
    const { harness, owner, say } = await world({ tools: [send], script: [[call("send")], "done"] });
    harness.start();
    await harness.rest();
    await refused(say(owner, move(THERE)), "refused", "while an action is unknown");
    await refused(say(owner, { type: "Resume" }), "refused", "while an action is unknown");
    await say(owner, { type: "Resolve", callId: "c6_0", outcome: "absent", verification: "looked" });
    await harness.rest();
    await say(owner, move(THERE));
    await harness.rest();
    expect((await harness.row()).origin.place).toBe(THERE);
  });

  test("that is taken with a write that a crash cut, before anybody called it unknown, moves nothing", async () => {
    const send = toolOf("send", "write", { execute: () => all.harness.sleep(60_000).then(() => "sent") });
    const all = await world({ tools: [send], script: [[call("send")], "done"], restarts: false });
    const { harness, owner, say } = all;
    const { actor } = harness.start();
    await harness.until(() => harness.ran.length === 1);
    harness.system.scheduler.crash(actor);
    await say(owner, move(THERE));
    await harness.pass(10_000);
    harness.start();
    await harness.rest();
    expect((await itemsTaken(harness)).at(-1)).toMatchObject({ type: "Handoff", refused: "unknown_action" });
    expect(await harness.row()).toMatchObject({ waitingOn: "resolution", origin: { place: HERE, private: false } });
  });

  test("that meets an unknown action when it is taken moves nothing", async () => {
    let failing = (): void => undefined;
    const send = toolOf("send", "write", {
      execute: () => new Promise((_, reject) => (failing = () => reject(new Error("hung up")))),
    });
    const { harness, owner, say } = await world({ tools: [send], script: [[call("send")], "done"] });
    await atWork(harness);
    await say(owner, move(THERE));
    failing();
    await harness.rest();
    expect((await itemsTaken(harness)).at(-1)).toMatchObject({ type: "Handoff", refused: "unknown_action" });
    expect(await harness.row()).toMatchObject({ waitingOn: "resolution", origin: { place: HERE, private: false } });
    // What was refused when it was taken does not stand in the way of the next.
    await say(owner, { type: "Resolve", callId: "c6_0", outcome: "absent", verification: "looked" });
    await harness.rest();
    await say(owner, move(THERE));
    await harness.rest();
    expect((await harness.row()).origin.place).toBe(THERE);
  });
});

describe("a place", () => {
  const closed: Access[] = [
    createLocalAccess({ places: {} }),
    { may: () => Promise.reject(new Error("down")) },
    { may: () => Promise.resolve("yes" as unknown as boolean) },
  ];

  test("that is closed, or of which nobody can say, shows and takes nothing, also of one's own", async () => {
    const { of, say } = await world();
    for (const access of closed) {
      const client = of(OWNER, { access });
      await refused(findTask(client, TASK), "refused", `${OWNER} may not see tasks in ${HERE}`);
      await refused(listTasks(client), "refused", "may not see");
      await refused(say(client, steer("x")), "refused", "may not act");
      const request = {
        agent: "a",
        settings: { model: "m" },
        objective: "o",
        mode: "run",
        onInterrupt: "pause",
      } as const;
      await refused(createTask(client, request), "refused", `${OWNER} may not act in ${HERE}`);
    }
  });

  test("that may be seen and not acted in shows what is there, and takes nothing", async () => {
    const { of, say } = await world();
    const client = of(OWNER, { access: { may: ({ to }) => Promise.resolve(to === "see") } });
    expect((await showTask(client, TASK)).taskId).toBe(TASK);
    await refused(say(client, { type: "Say", text: "x" }), "refused", "may not act");
  });

  test("lists the asker's ten newest tasks there, and nobody else's, whoever asks", async () => {
    const { of } = await world();
    const request = { agent: "a", settings: { model: "m" }, mode: "run", onInterrupt: "continue" } as const;
    const owner = of(OWNER);
    for (let n = 1; n <= 12; n += 1) await createTask(owner, { ...request, objective: `mine ${String(n)}` });
    await createTask(of(FRIEND), { ...request, objective: "his" });
    await createTask(of(OWNER, { place: THERE }), { ...request, objective: "elsewhere" });
    const listed = (await listTasks(owner)).map(({ objective }) => objective);
    expect(listed).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3].map((n) => `mine ${String(n)}`));
    expect((await listTasks(of(FRIEND))).map(({ objective }) => objective)).toEqual(["his"]);
    for (const administrator of ["local:root", "core:core", ""]) {
      const everybody: Access = { may: () => Promise.resolve(true) };
      expect(await listTasks(of(administrator, { access: everybody }))).toEqual([]);
    }
  });
});

describe("what waits", () => {
  test("a Say that comes while a call waits for an answer is queued, shown so, and joins after the results", async () => {
    const { harness, owner, say } = await world({ script: [[call("ask"), call("look")], "done"] });
    harness.start();
    await harness.rest();
    await say(owner, { type: "Say", text: "by the way" });
    await harness.rest();
    expect(await showTask(owner, TASK)).toMatchObject({ waitingOn: "answer", queued: [{ text: "by the way" }] });
    expect(harness.sent).toHaveLength(1);
    await say(owner, { type: "Answer", question: "c6_0", text: "42" });
    await harness.rest();
    const roles = harness.sent[1]?.request.messages.map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "tool", "user"]);
    const last = harness.sent[1]?.request.messages.at(-1);
    expect(last?.role === "user" && textOf(last.content)).toBe("by the way");
    expect((await showTask(owner, TASK)).queued).toEqual([]);
  });

  test("a correction ends the call that waits for an answer, and joins after its result", async () => {
    const { harness, owner, say } = await world({ script: [[call("ask"), call("send")], "done"] });
    harness.start();
    await harness.rest();
    await say(owner, steer("never mind"));
    await harness.rest();
    expect(harness.ran.map((each) => each.name)).toEqual(["ask", "send"]);
    expect(harness.sent[1]?.request.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });
});

test("an approval whose call is corrected away is settled with it: nobody is asked for it any more", async () => {
  const { harness, owner, say } = await world();
  const { pins, tools, agent } = harness.agent;
  const asks = { requestId: "q", callId: "c6_0", inputHash: "h", definition: "d", decides: OWNER } as const;
  const waits = [{ on: "approval", callId: "c6_0", ref: "q" }] as const;
  await harness.write(
    core("prompts", { identity: agent.identity, system: agent.system, parts: [] }),
    core("plugins", { pins: [...pins], tools: [...tools.values()].map(({ entry }) => entry) }),
    { type: "InputTaken", items: [words("do it", { seq: 1, key: "objective", by: OWNER })], through: 1 },
    called(),
    replied([call("send")]),
    core("approval_requested", asks),
    waiting("approval", { detail: { waits: [...waits] } }),
  );
  await refused(say(owner, move(THERE)), "refused", "while an approval is pending");
  await refused(say(owner, { type: "Resume" }), "refused", "cannot be resumed");
  await say(owner, steer("do not"));
  harness.start();
  await harness.rest();
  const rows = await harness.store.readRows({ taskId: TASK, table: "approvals" });
  expect(rows).toMatchObject([{ key: "q", set: { status: "cancelled" } }]);
  expect(harness.ran).toEqual([]);
  expect(wordsSent(harness)).toContain("do not");
});

describe("a correction that cannot be saved", () => {
  const failing = (harness: Harness, corrections: NonNullable<Client["corrections"]>, code: "unavailable" | "ended") =>
    clientOf(
      {
        ...harness.store,
        post: () => Promise.reject(Object.assign(new Error("the disk is full"), { code })),
      },
      OWNER,
      { corrections },
    );

  test("is not accepted, and a worker of the same process pauses the turn before its next dispatch", async () => {
    const corrections = createCorrections();
    let lost: Promise<unknown> = Promise.resolve();
    const all = await world({
      ports: { corrections },
      plan: before("store.append", 1, async () => {
        lost = all.say(failing(all.harness, corrections, "unavailable"), steer("not to him"));
        await lost.catch(() => undefined);
      }),
    });
    const { harness, owner, say } = all;
    harness.start();
    await harness.rest();
    await refused(lost, "unavailable", "is not accepted");
    expect(harness.ran).toEqual([]);
    expect(await showTask(owner, TASK)).toMatchObject({ outcome: "paused", reason: "correction_not_saved" });
    expect(corrections.isUnsaved(TASK)).toBe(false);
    await say(owner, steer("to her"));
    await say(owner, { type: "Resume" });
    await harness.rest();
    expect(harness.ran.map((each) => each.name)).not.toContain("send");
    expect(wordsSent(harness)).toContain("to her");
  });

  test("leaves a call that is announced by then undispatched, and the others for the resume", async () => {
    const corrections = createCorrections();
    // With the append that announces the call.
    const plan = before("store.append", 2, () => corrections.unsaved(TASK));
    const { harness, owner, say } = await world({ ports: { corrections }, plan });
    harness.start();
    await harness.rest();
    expect(harness.ran).toEqual([]);
    expect(await harness.log(6)).toBe(
      [
        "7 ToolStarted c6_0 send {}",
        '8 ToolFinished c6_0 skipped "Not run: it was called off before it started. Nothing happened."',
        "9 Waiting on=resume outcome=paused reason=correction_not_saved",
      ].join("\n"),
    );
    await say(owner, { type: "Resume" });
    await harness.rest();
    expect(harness.ran.map((each) => each.name)).toEqual(["look"]);
  });

  test("lets the turn go on once one is saved", async () => {
    const corrections = createCorrections();
    const { harness, say, of, goOn } = await named({ ports: { corrections } });
    await refused(say(failing(harness, corrections, "unavailable"), steer("lost")), "unavailable");
    expect(corrections.isUnsaved(TASK)).toBe(true);
    await say(of(OWNER, { corrections }), steer("saved"));
    expect(corrections.isUnsaved(TASK)).toBe(false);
    goOn();
    await harness.rest();
    expect((await harness.row()).outcome).toBe("completed");
  });

  test("pauses nothing that is at rest", async () => {
    const corrections = createCorrections();
    const { harness, say } = await world({ ports: { corrections } });
    harness.start();
    await harness.rest();
    await refused(say(failing(harness, corrections, "unavailable"), steer("lost")), "unavailable");
    expect(corrections.isUnsaved(TASK)).toBe(false);
  });
});
