// The contract suite of the store port: every sentence of store.ts, written once and run by every adapter.
// Fresh ids isolate the tests, so a store may be shared between runs; nothing is dropped.
import { randomBytes, randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { FIRST_CHAIN, SALT_BYTES, sealEvents, toHex } from "../core/envelope.ts";
import type { Event } from "../core/events.ts";
import type { ItemOf, NewItem } from "../core/items.ts";
import { projections, type Row, type TaskColumns } from "../core/project.ts";
import { skeletonOf } from "../core/redact.ts";
import { decodeEvent } from "../core/codec.ts";
import { checkLog } from "../core/check-log.ts";
import { TAKE_BYTES, TAKE_ITEMS } from "./limits.ts";
import { definitionHash, nodeHasher } from "./node-hasher.ts";
import type {
  AppendParams,
  AppendReceipt,
  Bundle,
  Claim,
  ClaimParams,
  Clock,
  CreateParams,
  DecisionRefusal,
  Draft,
  Envelope,
  NewTask,
  PostReceipt,
  PruneParams,
  Seal,
  Snapshot,
  Store,
  StoreCode,
  TaskRow,
  Post,
} from "./store.ts";

export interface OpenOptions {
  /** What the store takes its time from; the machine's clock where absent. */
  readonly clock?: Clock;
  /** What its content passes; nothing where absent. */
  readonly seal?: Seal;
}

export interface OpenedStore {
  readonly store: Store;
  /** Opens the same place again with the same options, as another process would. The first stays open. */
  readonly reopen?: () => Promise<Store>;
  /** Leaves a task as a finished forget leaves it: gone, but marked. */
  readonly forget?: (taskId: string) => Promise<void>;
  /** Backs the place up; what it gives restores that backup, as often as it is called, and opens what was restored. A store
   * that cannot be backed up gives the place itself in a new epoch. */
  readonly backup?: () => Promise<() => Promise<Store>>;
  /** All that the place holds (its files, its memory), once the store has tidied up as it does by itself. */
  readonly bytes?: () => Promise<Buffer>;
  /** Closes every handle and removes what was made for this test. */
  dispose(): Promise<void>;
}

/** A clock that moves only when it is told to. */
const manualClock = () => {
  let wall = 0;
  let monotonic = 1_000_000;
  let boot = "boot 1";
  return {
    wall: () => wall,
    monotonic: () => monotonic,
    get boot() {
      return boot;
    },
    setWall: (at: number) => {
      wall = at;
    },
    /** Time passes. */
    pass: (ms: number) => {
      wall += ms;
      monotonic += ms;
    },
    /** The machine starts anew: another boot, whose monotonic time begins again. */
    reboot: () => {
      boot = `${boot}'`;
      monotonic = 5;
    },
  };
};

const salt = (): Uint8Array => new Uint8Array(randomBytes(SALT_BYTES));
const newSecret = (): Uint8Array => new Uint8Array(randomBytes(32));
const fresh = (word: string): string => `${word}-${randomUUID()}`;

const LEASE_MS = 8_000;
const MIB = 1024 * 1024;

/** Strings that text columns, JSON or objects tend to lose or change. */
const AWKWARD = 'a\u0000b \ud800 \udfff \u{1f600} \\u0000 "quoted" \u2028';

const say = (text: string): NewItem => ({ type: "Say", text });
/** JSON.parse makes `__proto__` an own key, which an object literal does not. */
const awkwardData = JSON.parse('{"z":1,"__proto__":{"a":[null,1e21]},"b":2,"1":3}') as unknown;

const told = (text: string): Event => ({
  type: "ExtensionRecorded",
  extension: "test",
  kind: "told",
  v: 1,
  data: { text },
});
const waits: Event = { type: "Waiting", on: "input", detail: {} };
const ends: Event = { type: "TaskEnded", outcome: "done" };

const RUNNING: Partial<TaskColumns> = { status: "running" };
const WAITING: Partial<TaskColumns> = { status: "waiting", waitingOn: "input", outcome: "completed" };
const ENDED: Partial<TaskColumns> = { status: "ended", waitingOn: null, outcome: "done" };

const timerRow = (id: string, dueAt: number, seq = 1): Row => ({
  table: "timers",
  key: id,
  set: { dueAt, callId: null, seq },
});

/** What a writer knows of one task: its ids, and where its log ends. */
interface Log {
  readonly taskId: string;
  readonly secret: Uint8Array;
  readonly columns: TaskColumns;
  seq: number;
  chain: Uint8Array;
}

interface Making {
  readonly taskId?: string;
  readonly key?: string;
  readonly objective?: string;
  readonly columns?: Partial<TaskColumns>;
  readonly rows?: readonly Row[];
  readonly items?: CreateParams["items"];
}

const createdEvent = (columns: TaskColumns, objective: string): Event => ({
  type: "TaskCreated",
  agent: columns.agent,
  config: { model: "scripted" },
  objective,
  owner: columns.owner,
  origin: columns.origin,
  root: columns.root,
  onInterrupt: "continue",
  mode: columns.mode,
  ...(columns.historyFrom === null ? {} : { historyFrom: { taskId: columns.historyFrom, through: 1 } }),
});

const columnsFor = (taskId: string, over: Partial<TaskColumns>): TaskColumns => ({
  agent: "scribe",
  owner: "local:root",
  origin: { frontEnd: "cli", place: "here", conversation: "c", private: false },
  parent: null,
  root: taskId,
  mode: "conversation",
  historyFrom: null,
  status: "ready",
  waitingOn: null,
  outcome: null,
  reason: null,
  requires: ["agent:scribe"],
  queue: "default",
  priority: 0,
  ...over,
});

const draftsAfter = (log: Pick<Log, "seq" | "chain">, events: readonly Event[]): Draft[] =>
  sealEvents(nodeHasher, log, events, salt);

/** A creation's parameters, and the log as they leave it. */
const making = (over: Making = {}): { params: CreateParams; log: Log } => {
  const taskId = over.taskId ?? fresh("task");
  const columns = columnsFor(taskId, over.columns ?? {});
  const drafts = draftsAfter({ seq: 0, chain: FIRST_CHAIN }, [createdEvent(columns, over.objective ?? "write")]);
  const secret = newSecret();
  const key = over.key === undefined ? {} : { key: over.key };
  const task: NewTask = { taskId, ...key, secret, columns, rows: over.rows ?? [] };
  const log: Log = { taskId, secret, columns, seq: 1, chain: drafts[0]?.chain ?? FIRST_CHAIN };
  return { params: { task, drafts, items: over.items ?? [] }, log };
};

const refused = async (work: Promise<unknown>, code: StoreCode): Promise<void> => {
  await expect(work).rejects.toMatchObject({ name: "StoreError", code });
};

const bodies = (entries: readonly { readonly body: string }[]): string[] => entries.map((entry) => entry.body);
const seqs = (entries: readonly { readonly seq: number }[]): number[] => entries.map((entry) => entry.seq);
const texts = (entries: readonly { readonly body: string }[]): unknown[] =>
  entries.map((entry) => (JSON.parse(entry.body) as { text?: unknown }).text);

const collect = async <T>(source: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
};

/** Registers the suite. `open` is called anew for every test. */
export function storeContract(name: string, open: (options: OpenOptions) => Promise<OpenedStore>): void {
  describe(`${name} keeps the store's contract`, () => {
    let opened: OpenedStore;
    let store: Store;
    let clock: ReturnType<typeof manualClock>;

    const begin = async (options: { readonly seal?: Seal } = {}): Promise<void> => {
      clock = manualClock();
      opened = await open({ clock, ...options });
      store = opened.store;
      // A store that was used before has seen a later time than this clock's.
      clock.setWall((await store.now()) + 1_000);
    };

    beforeEach(() => begin());
    afterEach(() => opened.dispose());

    const again = async (context: TestContext): Promise<Store> => {
      if (opened.reopen === undefined) return context.skip("this store has one handle per place");
      return opened.reopen();
    };

    const forget = async (context: TestContext, taskId: string): Promise<void> => {
      if (opened.forget === undefined) return context.skip("this store's harness cannot mark a task as forgotten");
      return opened.forget(taskId);
    };

    const create = async (over: Making = {}): Promise<Log> => {
      const { params, log } = making(over);
      await store.createTask(params);
      return log;
    };

    const claiming = (over: Partial<ClaimParams> = {}): ClaimParams => ({
      worker: "w1",
      leaseMs: LEASE_MS,
      offers: ["agent:scribe"],
      snapshotVersions: {},
      build: "build 1",
      ...over,
    });

    /** Claims this very task, which must be there to claim. */
    const hold = async (log: Log, over: Partial<ClaimParams> = {}): Promise<Claim> => {
      const claim = await store.claim(claiming({ taskId: log.taskId, ...over }));
      if (claim === null) throw new Error(`nobody may claim ${log.taskId}`);
      return claim;
    };

    type More = Partial<AppendParams>;
    const appending = (log: Log, claim: Claim, events: readonly Event[], more: More = {}): AppendParams => ({
      taskId: log.taskId,
      fence: claim.fence,
      revision: claim.revision,
      drafts: draftsAfter(log, events),
      columns: {},
      rows: [],
      ...more,
    });

    const append = async (
      log: Log,
      claim: Claim,
      events: readonly Event[],
      more: More = {},
    ): Promise<AppendReceipt> => {
      const params = appending(log, claim, events, more);
      const receipt = await store.append(params);
      const last = params.drafts.at(-1);
      if (last !== undefined) Object.assign(log, { seq: last.seq, chain: last.chain });
      return receipt;
    };

    const post = (log: { taskId: string }, item: NewItem, key = fresh("key")): Promise<PostReceipt> =>
      store.post({ taskId: log.taskId, by: "local:root", key, item });

    const rowOf = async (log: { taskId: string }): Promise<TaskRow> => {
      const row = await store.getTask({ taskId: log.taskId });
      if (row === null) throw new Error(`no task ${log.taskId}`);
      return row;
    };

    const readAll = (log: { taskId: string }): Promise<readonly Envelope[]> => store.read({ taskId: log.taskId });

    const untaken = async (log: Log, claim: Claim) => store.readInbox({ taskId: log.taskId, fence: claim.fence });

    /** Takes whatever there is, waits, and gives the claim back: the task is parked with nothing to do. */
    const park = async (log: Log, claim: Claim): Promise<void> => {
      const inboxSeen = (await rowOf(log)).inboxSeq;
      await append(log, claim, [waits], { columns: WAITING, taken: inboxSeen, inboxSeen });
      await store.release({ taskId: log.taskId, fence: claim.fence, kind: "parked", inboxSeen });
    };

    const parked = async (over: Making = {}): Promise<Log> => {
      const log = await create(over);
      await park(log, await hold(log));
      return log;
    };

    const end = async (log: Log, claim: Claim): Promise<void> => {
      await append(log, claim, [ends], { columns: ENDED });
    };

    const findings = async (log: { taskId: string }) => {
      const { taskId } = log;
      const entries = await readAll(log);
      const redactions = await store.readRedactions({ taskId });
      const row = await rowOf(log);
      return checkLog({ taskId, entries, redactions, row, hasher: nodeHasher });
    };

    describe("tasks", () => {
      it("creates a task with its first events, rows and items at once", async () => {
        const items = [{ by: "local:root", key: "k", item: say("hello") }];
        const { params, log } = making({ items, rows: [timerRow("t", clock.wall() + 5)] });
        const receipt = await store.createTask(params);
        expect(receipt).toEqual({ taskId: log.taskId, lastSeq: 1, head: toHex(log.chain), duplicate: false });
        expect(bodies(await readAll(log))).toEqual([params.drafts[0]?.body]);
        expect(texts((await hold(log)).inbox)).toEqual(["hello"]);
        expect(await store.readRows({ taskId: log.taskId })).toEqual([timerRow("t", clock.wall() + 5)]);
      });

      it("shows a new task's row", async () => {
        const log = await create({ columns: { priority: 3, queue: "q", reason: null } });
        const { origin, agent, owner, root, mode } = log.columns;
        expect(await rowOf(log)).toEqual({
          taskId: log.taskId,
          restoredFrom: null,
          agent,
          owner,
          origin,
          parent: null,
          root,
          mode,
          status: "ready",
          waitingOn: null,
          outcome: null,
          reason: null,
          requires: ["agent:scribe"],
          queue: "q",
          priority: 3,
          createdAt: clock.wall(),
          updatedAt: clock.wall(),
          lastSeq: 1,
          head: toHex(log.chain),
          revision: expect.any(Number),
          redactions: 0,
          inboxSeq: 0,
          inboxTaken: 0,
          fence: expect.any(Number),
          claimedBy: null,
          held: null,
          nextTimerAt: null,
        });
      });

      it("knows no task that was not created", async () => {
        expect(await store.getTask({ taskId: fresh("task") })).toBeNull();
      });

      it("refuses a task id that is taken, and leaves that task as it was", async () => {
        const log = await create();
        const before = await rowOf(log);
        const items = [{ by: "local:root", key: "k", item: say("again") }];
        await refused(store.createTask(making({ taskId: log.taskId, items }).params), "conflict");
        expect(await rowOf(log)).toEqual(before);
      });

      it("refuses first events that do not begin at seq 1", async () => {
        const { params, log } = making();
        const drafts = params.drafts.map((draft) => ({ ...draft, seq: 2 }));
        await refused(store.createTask({ ...params, drafts }), "conflict");
        expect(await store.getTask({ taskId: log.taskId })).toBeNull();
      });

      it("answers a creation key that comes again with the first receipt, and creates nothing", async () => {
        const key = fresh("key");
        const first = await store.createTask(making({ key }).params);
        const { params, log } = making({ key });
        expect(await store.createTask(params)).toEqual({ ...first, duplicate: true });
        expect(await store.getTask({ taskId: log.taskId })).toBeNull();
      });

      it("answers the same creation sent twice with the first receipt", async () => {
        const { params } = making({ key: fresh("key") });
        const first = await store.createTask(params);
        expect(await store.createTask(params)).toEqual({ ...first, duplicate: true });
      });

      it("keeps the first receipt when the log has grown since", async () => {
        const key = fresh("key");
        const { params, log } = making({ key });
        const first = await store.createTask(params);
        await append(log, await hold(log), [told("more")]);
        expect(await store.createTask(making({ key }).params)).toEqual({ ...first, duplicate: true });
      });

      it("refuses a creation key used for another objective or another agent", async () => {
        const key = fresh("key");
        await create({ key });
        await refused(store.createTask(making({ key, objective: "paint" }).params), "conflict");
        await refused(store.createTask(making({ key, columns: { agent: "painter" } }).params), "conflict");
      });

      it("keeps creation keys apart by owner and by place", async () => {
        const key = fresh("key");
        await create({ key });
        const other = { frontEnd: "cli", place: "there", conversation: "c", private: false };
        const byOwner = await store.createTask(making({ key, columns: { owner: "local:guest" } }).params);
        const byPlace = await store.createTask(making({ key, columns: { origin: other } }).params);
        expect([byOwner.duplicate, byPlace.duplicate]).toEqual([false, false]);
      });

      it("keeps a creation key at the place of creation when the task moves", async () => {
        const key = fresh("key");
        const there = { frontEnd: "cli", place: "there", conversation: "c", private: false };
        const log = await create({ key });
        const other = await create({ key, columns: { origin: there } });
        await append(log, await hold(log), [told("moved")], { columns: { origin: there } });
        const here = await store.createTask(making({ key }).params);
        const moved = await store.createTask(making({ key, columns: { origin: there } }).params);
        expect([here.taskId, moved.taskId]).toEqual([log.taskId, other.taskId]);
      });

      it("makes one task of two creations at once with one key", async () => {
        const key = fresh("key");
        const receipts = await Promise.all(
          [making({ key }), making({ key })].map((one) => store.createTask(one.params)),
        );
        expect(new Set(receipts.map((receipt) => receipt.taskId)).size).toBe(1);
        expect(receipts.filter((receipt) => receipt.duplicate)).toHaveLength(1);
      });

      it("refuses to create a forgotten task again", async (context) => {
        const log = await create();
        await forget(context, log.taskId);
        await refused(store.createTask(making({ taskId: log.taskId }).params), "forgotten");
      });

      it("keeps the row as the appends change it", async () => {
        const log = await create();
        const claim = await hold(log);
        clock.pass(10);
        await append(log, claim, [told("a"), waits], { columns: { ...WAITING, priority: 7 } });
        expect(await rowOf(log)).toMatchObject({
          status: "waiting",
          waitingOn: "input",
          outcome: "completed",
          priority: 7,
          agent: "scribe",
          lastSeq: 3,
          head: toHex(log.chain),
          updatedAt: clock.wall(),
          createdAt: clock.wall() - 10,
        });
      });

      it("lists the newest task first", async () => {
        const owner = fresh("local");
        const made = [await create({ columns: { owner } }), await create({ columns: { owner } })];
        const listed = await store.listTasks({ owner, limit: 10 });
        expect(listed.map((row) => row.taskId)).toEqual(made.map((log) => log.taskId).reverse());
        expect(listed[0]).toEqual(await rowOf(made[1] as Log));
      });

      it("pages without a gap or a double while tasks are created", async () => {
        const owner = fresh("local");
        const made: string[] = [];
        for (let index = 0; index < 5; index += 1) made.unshift((await create({ columns: { owner } })).taskId);
        const listed: string[] = [];
        for (;;) {
          const after = listed.at(-1);
          const page = await store.listTasks({ owner, limit: 2, ...(after === undefined ? {} : { after }) });
          if (page.length === 0) break;
          listed.push(...page.map((row) => row.taskId));
          await create({ columns: { owner } });
        }
        expect(listed).toEqual(made);
      });

      it("lists by owner, place, parent and status, and by all of them", async () => {
        const [owner, place, parent] = [fresh("local"), fresh("place"), fresh("task")];
        const origin = { frontEnd: "cli", place, conversation: "c", private: false };
        const ofOwner = await create({ columns: { owner } });
        const ofPlace = await create({ columns: { owner, origin } });
        const ofParent = await parked({ columns: { owner, parent } });
        const ids = async (params: { place?: string; parent?: string; status?: TaskRow["status"] }) =>
          (await store.listTasks({ owner, ...params, limit: 10 })).map((row) => row.taskId);
        expect(await ids({})).toEqual([ofParent.taskId, ofPlace.taskId, ofOwner.taskId]);
        expect(await ids({ place })).toEqual([ofPlace.taskId]);
        expect(await ids({ parent })).toEqual([ofParent.taskId]);
        expect(await ids({ status: "ready" })).toEqual([ofPlace.taskId, ofOwner.taskId]);
        expect(await ids({ parent, status: "ready" })).toEqual([]);
      });

      it("lists what has not changed since a time", async () => {
        const place = fresh("place");
        const at = { columns: { origin: { frontEnd: "cli", place, conversation: "c", private: false } } };
        const [idle, busy] = [await create(at), await create(at)];
        clock.pass(1_000);
        const updatedBefore = await store.now();
        await append(busy, await hold(busy), [told("a")], { columns: RUNNING });
        const listed = await store.listTasks({ place, updatedBefore, limit: 10 });
        expect(listed.map((row) => row.taskId)).toEqual([idle.taskId]);
      });

      it("lists by the beginning of the id, word for word", async () => {
        const prefix = `${fresh("task")}_%a`;
        const log = await create({ taskId: `${prefix}1` });
        await create({ taskId: `${prefix.replace("_", "x")}2` });
        await create({ taskId: `${prefix.replace("%", "x")}3` });
        await create({ taskId: `${prefix.replace("%a", "%A")}4` });
        const listed = await store.listTasks({ idPrefix: prefix, limit: 10 });
        expect(listed.map((row) => row.taskId)).toEqual([log.taskId]);
      });

      it("hands out the secret of a task, and of none that is not there", async (context) => {
        const log = await create();
        expect(await store.getSecret({ taskId: log.taskId })).toEqual(log.secret);
        await refused(store.getSecret({ taskId: fresh("task") }), "not_found");
        await forget(context, log.taskId);
        await refused(store.getSecret({ taskId: log.taskId }), "forgotten");
      });
    });

    describe("projection rows and definitions", () => {
      const usage = (calls: number) => {
        const counts = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, reasoning: 5, durationMs: 6 };
        return { purpose: "turn", model: "m", calls, failed: 0, unknown: 0, ...counts, priceEstimate: 0.25 };
      };

      it("sets, changes and removes rows with the append", async () => {
        const log = await create({
          rows: [timerRow("t1", clock.wall() + 1_000), timerRow("t2", clock.wall() + 1_000)],
        });
        const claim = await hold(log);
        const rows: Row[] = [
          { table: "timers", key: "t1", set: { dueAt: clock.wall() + 2_000 } },
          { table: "timers", key: "t2", set: null },
          { table: "usage", key: "turn m", set: usage(1) },
        ];
        await append(log, claim, [told("a")], { rows });
        expect(await store.readRows({ taskId: log.taskId })).toEqual([
          { table: "usage", key: "turn m", set: usage(1) },
          timerRow("t1", clock.wall() + 2_000),
        ]);
      });

      it("leaves columns that a row does not name as they are, and null where none did", async () => {
        const log = await create({ rows: [{ table: "actions", key: "c1", set: { name: "Write", startedSeq: 4 } }] });
        const rows: Row[] = [{ table: "actions", key: "c1", set: { status: "ok", finishedSeq: 5 } }];
        await append(log, await hold(log), [told("a")], { rows });
        const names = Object.keys(projections.actions);
        const set = Object.fromEntries(names.map((column): [string, string | number | null] => [column, null]));
        Object.assign(set, { name: "Write", startedSeq: 4, status: "ok", finishedSeq: 5 });
        expect(await store.readRows({ taskId: log.taskId })).toEqual([{ table: "actions", key: "c1", set }]);
      });

      it("gives rows in the order of the tables' declaration and of the key, and of one table alone", async () => {
        const rows: Row[] = [
          timerRow("b", clock.wall() + 1_000),
          { table: "collaborators", key: "discord:2", set: { seq: 1, by: "local:root" } },
          timerRow("B", clock.wall() + 1_000),
          { table: "usage", key: "turn m", set: usage(1) },
          timerRow("a", clock.wall() + 1_000),
        ];
        const log = await create({ rows });
        const keys = (await store.readRows({ taskId: log.taskId })).map((row) => `${row.table} ${row.key}`);
        expect(keys).toEqual(["usage turn m", "collaborators discord:2", "timers B", "timers a", "timers b"]);
        const timers = await store.readRows({ taskId: log.taskId, table: "timers" });
        expect(timers.map((row) => row.key)).toEqual(["B", "a", "b"]);
      });

      it("keeps the rows of a task apart from those of another", async () => {
        const [one, other] = [await create(), await create()];
        await append(one, await hold(one), [told("a")], { rows: [timerRow("t", clock.wall() + 1_000)] });
        expect(await store.readRows({ taskId: other.taskId })).toEqual([]);
      });

      it("lets no character of a row or of a definition fail an append", async () => {
        const log = await create();
        const rows: Row[] = [
          { table: "sources", key: AWKWARD, set: { version: AWKWARD, cursor: "\u0000", seq: 2 } },
          { table: "collaborators", key: "__proto__", set: { seq: 2, by: "a" } },
        ];
        const text = JSON.stringify({ name: "t", description: AWKWARD });
        const definitions = [{ hash: definitionHash(text), text }];
        const receipt = await append(log, await hold(log), [told("a")], { rows, definitions });
        expect(receipt.lastSeq).toBe(2);
        expect(await store.getDefinitions({ hashes: [definitionHash(text)] })).toEqual(definitions);
        const kept = await store.readRows({ taskId: log.taskId, table: "collaborators" });
        expect(kept).toEqual([{ table: "collaborators", key: "__proto__", set: { seq: 2, by: "a" } }]);
      });

      it("shares definitions by hash, keeps the first text, and leaves out those that it does not know", async () => {
        const [one, other] = [await create(), await create()];
        const text = JSON.stringify({ name: fresh("tool") });
        const definitions = [{ hash: definitionHash(text), text }];
        await append(one, await hold(one), [told("a")], { definitions });
        const forged = definitions.map(({ hash }) => ({ hash, text: "another text under the same hash" }));
        await append(other, await hold(other), [told("a")], { definitions: forged });
        const hashes = [definitionHash("unknown"), definitionHash(text)];
        expect(await store.getDefinitions({ hashes })).toEqual(definitions);
        expect(await store.getDefinitions({ hashes: [] })).toEqual([]);
      });
    });

    describe("log", () => {
      it("appends events with dense seqs and reads them in order", async () => {
        const log = await create();
        const claim = await hold(log);
        await append(log, claim, [told("a"), told("b")]);
        const receipt = await append(log, claim, [told("c")]);
        expect(receipt).toEqual({ lastSeq: 4, at: clock.wall(), inboxSeq: 0, timerDue: false });
        const entries = await readAll(log);
        expect(seqs(entries)).toEqual([1, 2, 3, 4]);
        expect(entries.map((entry) => entry.at)).toEqual([1, 2, 3, 4].map(() => clock.wall()));
      });

      it("gives the envelope back as the writer made it", async () => {
        const log = await create();
        const params = appending(log, await hold(log), [told("a"), told("b")]);
        await store.append(params);
        const entries = await store.read({ taskId: log.taskId, after: 1 });
        expect(entries).toEqual(params.drafts.map((draft) => ({ ...draft, at: clock.wall() })));
        expect(await findings(log)).toEqual([]);
      });

      it("reads after a seq, through a seq, and no more than the limit", async () => {
        const log = await create();
        await append(log, await hold(log), [told("a"), told("b"), told("c"), told("d")]);
        const { taskId } = log;
        expect(seqs(await store.read({ taskId, after: 2 }))).toEqual([3, 4, 5]);
        expect(seqs(await store.read({ taskId, through: 2 }))).toEqual([1, 2]);
        expect(seqs(await store.read({ taskId, after: 1, through: 4 }))).toEqual([2, 3, 4]);
        expect(seqs(await store.read({ taskId, after: 1, limit: 2 }))).toEqual([2, 3]);
        expect(seqs(await store.read({ taskId, after: 5 }))).toEqual([]);
      });

      it("refuses to read a task that is not there, or that was forgotten", async (context) => {
        await refused(store.read({ taskId: fresh("task") }), "not_found");
        const log = await create();
        await forget(context, log.taskId);
        await refused(readAll(log), "forgotten");
      });

      it("gives bodies back byte for byte: NUL, lone surrogates, __proto__, order of keys", async () => {
        const log = await create();
        const awkward: Event = { type: "ExtensionRecorded", extension: "t", kind: "k", v: 1, data: awkwardData };
        const params = appending(log, await hold(log), [told(AWKWARD), awkward]);
        await store.append(params);
        const read = bodies(await store.read({ taskId: log.taskId, after: 1 }));
        expect(read).toEqual(bodies(params.drafts));
        expect(read[1]).toContain('{"1":3,"z":1,"__proto__":{"a":[null,1e+21]},"b":2}');
        clock.pass(LEASE_MS + 1);
        expect(bodies((await hold(log)).entries).slice(1)).toEqual(read);
      });

      it("gives a body of five megabytes back", async () => {
        const log = await create();
        const params = appending(log, await hold(log), [told("ä".repeat(2.5 * MIB))]);
        await store.append(params);
        const [entry] = await store.read({ taskId: log.taskId, after: 1 });
        expect(entry?.body === params.drafts[0]?.body).toBe(true);
      });

      it("refuses in the documented order", async () => {
        const log = await create();
        const stale = await hold(log);
        clock.pass(LEASE_MS + 1);
        const claim = await hold(log);
        await append(log, claim, [told("a")]);
        await store.redact({ taskId: log.taskId, seqs: [2], secret: newSecret() });
        await post(log, say("hello"));
        // Wrong in every way; each step below puts one more thing right.
        const wrong = appending({ ...log, seq: 90 }, stale, [told("b")], { inboxSeen: 0 });
        await refused(store.append({ ...wrong, taskId: fresh("task") }), "not_found");
        await refused(store.append(wrong), "not_owner");
        await refused(store.append({ ...wrong, fence: claim.fence }), "conflict");
        const drafts = draftsAfter(log, [told("b")]);
        await refused(store.append({ ...wrong, fence: claim.fence, drafts }), "redacted");
        const { revision } = await rowOf(log);
        await refused(store.append({ ...wrong, fence: claim.fence, drafts, revision }), "inbox_moved");
        const right = { ...wrong, fence: claim.fence, drafts, revision, inboxSeen: 1 };
        expect(await store.append(right)).toMatchObject({ lastSeq: 3 });
      });

      it("refuses an old fence before the end, and the end before the expected seq", async () => {
        const log = await create();
        const stale = await hold(log);
        clock.pass(LEASE_MS + 1);
        const claim = await hold(log);
        await end(log, claim);
        const far = { ...log, seq: 90 };
        await refused(store.append(appending(far, stale, [told("a")])), "not_owner");
        await refused(store.append(appending(far, claim, [told("a")])), "ended");
      });

      it("refuses to append to a forgotten task", async (context) => {
        const log = await create();
        const claim = await hold(log);
        await forget(context, log.taskId);
        await refused(store.append(appending(log, claim, [told("a")])), "forgotten");
      });

      it("refuses an append by whoever never claimed", async () => {
        const log = await create();
        const { fence, revision } = await rowOf(log);
        for (const guess of [fence, fence + 1]) {
          const params = { taskId: log.taskId, fence: guess, revision, columns: {}, rows: [] };
          await refused(store.append({ ...params, drafts: draftsAfter(log, [told("a")]) }), "not_owner");
        }
      });

      it("refuses an old fence, whatever the clock says", async () => {
        const log = await create();
        const stale = await hold(log);
        clock.pass(LEASE_MS + 1);
        await hold(log, { worker: "w2" });
        for (const shift of [-3 * LEASE_MS, 0, 3 * LEASE_MS]) {
          clock.setWall(clock.wall() + shift);
          await refused(store.append(appending(log, stale, [told("late")])), "not_owner");
        }
        expect(await readAll(log)).toHaveLength(1);
      });

      it("refuses a fence that was given back", async () => {
        const log = await create();
        const claim = await hold(log);
        await store.release({ taskId: log.taskId, fence: claim.fence, kind: "stop" });
        await refused(store.append(appending(log, claim, [told("late")])), "not_owner");
      });

      it("takes an append under a lease that ran out, as long as nobody else claimed", async () => {
        const log = await create();
        const claim = await hold(log);
        clock.pass(LEASE_MS + 1);
        expect(await append(log, claim, [told("a")])).toMatchObject({ lastSeq: 2 });
      });

      it("refuses drafts that leave a gap, or none at all", async () => {
        const log = await create();
        const claim = await hold(log);
        const params = appending(log, claim, [told("a"), told("b")]);
        const [first, second] = params.drafts as [Draft, Draft];
        await refused(store.append({ ...params, drafts: [first, { ...second, seq: 4 }] }), "conflict");
        await refused(store.append({ ...params, drafts: [second, first] }), "conflict");
        await refused(store.append({ ...params, drafts: [] }), "conflict");
        expect(await readAll(log)).toHaveLength(1);
      });

      it("refuses the same append sent twice, and holds the first's digests", async () => {
        const log = await create();
        const params = appending(log, await hold(log), [told("a"), told("b")]);
        await store.append(params);
        await refused(store.append(params), "conflict");
        const entries = await store.read({ taskId: log.taskId, after: 1 });
        expect(entries.map((entry) => entry.digest)).toEqual(params.drafts.map((draft) => draft.digest));
      });

      it("lets one of two appends at once win", async () => {
        const log = await create();
        const claim = await hold(log);
        const both = [told("a"), told("b")].map((event) => store.append(appending(log, claim, [event])));
        const outcomes = await Promise.allSettled(both);
        expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(["fulfilled", "rejected"]);
        expect(outcomes.find((outcome) => outcome.status === "rejected")?.reason).toMatchObject({ code: "conflict" });
        expect(await readAll(log)).toHaveLength(2);
      });

      it("leaves nothing of a refused append: no event, row, item, definition, post or child", async () => {
        const [log, other] = [await create(), await parked()];
        await post(log, say("hello"));
        await post(log, say("more"));
        const claim = await hold(log);
        const before = [await rowOf(log), await rowOf(other)];
        const child = making({ columns: { parent: log.taskId } });
        const text = JSON.stringify({ name: fresh("tool") });
        const refusals: [StoreCode, Partial<AppendParams>][] = [
          ["not_owner", { fence: claim.fence - 1 }],
          ["conflict", { drafts: draftsAfter({ ...log, seq: 7 }, [told("a")]) }],
          ["redacted", { revision: claim.revision + 1 }],
          ["inbox_moved", { inboxSeen: 1 }],
        ];
        for (const [code, wrong] of refusals) {
          const whole: Partial<AppendParams> = {
            columns: { ...RUNNING, priority: 9 },
            rows: [timerRow("t", clock.wall() + 5)],
            taken: 1,
            posts: [{ taskId: other.taskId, by: "core", key: fresh("key"), item: say("hello") }],
            definitions: [{ hash: definitionHash(text), text }],
            children: [child.params],
          };
          await refused(store.append(appending(log, claim, [told("a")], { ...whole, ...wrong })), code);
        }
        expect([await rowOf(log), await rowOf(other)]).toEqual(before);
        expect(await readAll(log)).toHaveLength(1);
        expect(texts(await untaken(log, claim))).toEqual(["hello", "more"]);
        expect(await store.readRows({ taskId: log.taskId })).toEqual([]);
        expect(await store.getDefinitions({ hashes: [definitionHash(text)] })).toEqual([]);
        expect(await store.getTask({ taskId: child.log.taskId })).toBeNull();
      });

      it("never lets the time of a task's events go back, though the wall clock does", async () => {
        const log = await create();
        const claim = await hold(log);
        const start = clock.wall();
        await append(log, claim, [told("a")]);
        clock.setWall(start - 60_000);
        const back = await append(log, claim, [told("b")]);
        clock.setWall(start + 5);
        const forth = await append(log, claim, [told("c")]);
        expect([back.at, forth.at]).toEqual([start, start + 5]);
        expect((await readAll(log)).map((entry) => entry.at)).toEqual([start, start, start, start + 5]);
      });

      it("tells the append what came into the inbox meanwhile", async () => {
        const log = await create({ rows: [timerRow("t", clock.wall() + 100)] });
        const claim = await hold(log);
        await post(log, say("a"));
        await post(log, say("b"));
        expect(await append(log, claim, [told("a")], { taken: 1 })).toMatchObject({ inboxSeq: 2, timerDue: false });
        clock.pass(100);
        expect(await append(log, claim, [told("b")], { taken: 2 })).toMatchObject({ inboxSeq: 2, timerDue: true });
      });

      it("changes nothing when a caller changes what it gave", async () => {
        const { params, log } = making();
        await store.createTask(params);
        const [secret, place] = [Uint8Array.from(log.secret), "there"];
        const origin = { ...log.columns.origin, place };
        const appended = appending(log, await hold(log), [told("a")], { columns: { origin } });
        await store.append(appended);
        const [before, chain] = [await readAll(log), Uint8Array.from(appended.drafts[0]?.chain ?? [])];
        for (const { salt: given, digest, chain: link } of appended.drafts)
          [given, digest, link].map((one) => one.fill(0));
        log.secret.fill(0);
        Object.assign(origin, { place: "elsewhere" });
        expect(await readAll(log)).toEqual(before);
        expect(before[1]?.chain).toEqual(chain);
        expect(await store.getSecret({ taskId: log.taskId })).toEqual(secret);
        expect((await rowOf(log)).origin.place).toBe("there");
      });

      it("changes nothing when a caller changes what it was given", async () => {
        const log = await create();
        await post(log, say("a"));
        const { taskId } = log;
        await append(log, await hold(log), [told("a"), told("b")]);
        await store.redact({ taskId, seqs: [3], secret: log.secret });
        clock.pass(LEASE_MS);
        const given = async () => ({
          claim: await hold(log),
          row: await rowOf(log),
          entries: await readAll(log),
          redactions: await store.readRedactions({ taskId }),
          secret: await store.getSecret({ taskId }),
          bundle: await store.exportTask({ taskId }),
        });
        /** Makes every byte 0 and every text empty, at any depth. */
        const spoil = (value: unknown): void => {
          if (value instanceof Uint8Array) value.fill(0);
          else if (typeof value === "object" && value !== null) {
            for (const [key, part] of Object.entries(value)) {
              if (typeof part === "string") Object.assign(value, { [key]: "" });
              else spoil(part);
            }
          }
        };
        const first = await given();
        const expected = structuredClone(first);
        spoil(first);
        clock.pass(LEASE_MS);
        const { claim, row, ...rest } = await given();
        const { claim: before, row: rowBefore, ...restBefore } = expected;
        const { fence, attempts, now, previousEndedAt } = claim;
        expect(claim).toEqual({ ...before, fence, attempts, now, previousEndedAt });
        expect(row).toEqual({ ...rowBefore, fence });
        expect(rest).toEqual({ ...restBefore, bundle: { ...restBefore.bundle, row } });
      });
    });

    describe("inbox", () => {
      it("gives each item the next inbox seq of its task", async () => {
        const [log, other] = [await create(), await create()];
        const { taskId } = log;
        expect(await post(log, say("a"))).toEqual({ taskId, seq: 1, duplicate: false });
        expect(await post(other, say("x"))).toMatchObject({ seq: 1 });
        expect(await post(log, say("b"))).toEqual({ taskId, seq: 2, duplicate: false });
        expect(await rowOf(log)).toMatchObject({ inboxSeq: 2, inboxTaken: 0, lastSeq: 1 });
      });

      it("gives items back as they were posted, in order, with poster, key and time", async () => {
        const log = await create();
        await store.post({ taskId: log.taskId, by: "discord:1", key: "k1", item: say(AWKWARD) });
        clock.pass(5);
        const signal: NewItem = { type: "Signal", name: "go", data: awkwardData };
        await store.post({ taskId: log.taskId, by: "http:2", key: "k2", item: signal });
        const items = (await hold(log)).inbox;
        expect(items).toEqual([
          { seq: 1, at: clock.wall() - 5, by: "discord:1", key: "k1", body: JSON.stringify(say(AWKWARD)) },
          { seq: 2, at: clock.wall(), by: "http:2", key: "k2", body: JSON.stringify(signal) },
        ]);
        expect(items[1]?.body).toContain('"__proto__":{"a":[null,1e+21]}');
      });

      it("refuses a post to a task that is not there, was forgotten or has ended", async (context) => {
        await refused(post({ taskId: fresh("task") }, say("a")), "not_found");
        const [log, gone] = [await create(), await create()];
        await end(log, await hold(log));
        await refused(post(log, say("a")), "ended");
        await forget(context, gone.taskId);
        await refused(post(gone, say("a")), "forgotten");
      });

      it("answers a key that comes again with the first receipt", async () => {
        const log = await create();
        const first = await post(log, say("a"), "k");
        await post(log, say("b"));
        expect(await post(log, say("a"), "k")).toEqual({ ...first, duplicate: true });
        expect(await rowOf(log)).toMatchObject({ inboxSeq: 2 });
      });

      it("refuses a key that comes again with another body", async () => {
        const log = await create();
        await post(log, say("a"), "k");
        await refused(post(log, say("b"), "k"), "conflict");
        expect(texts((await hold(log)).inbox)).toEqual(["a"]);
      });

      it("compares the first items of a task by key too", async () => {
        const log = await create({ items: [{ by: "local:root", key: "k", item: say("a") }] });
        expect(await post(log, say("a"), "k")).toEqual({ taskId: log.taskId, seq: 1, duplicate: true });
        await refused(post(log, say("b"), "k"), "conflict");
      });

      it("keeps keys apart by task", async () => {
        const [log, other] = [await create(), await create()];
        await post(log, say("a"), "k");
        expect(await post(other, say("b"), "k")).toMatchObject({ duplicate: false });
      });

      it("still compares a key after its item was taken", async () => {
        const log = await create();
        const first = await post(log, say("a"), "k");
        await append(log, await hold(log), [told("a")], { taken: 1 });
        expect(await post(log, say("a"), "k")).toEqual({ ...first, duplicate: true });
        await refused(post(log, say("b"), "k"), "conflict");
      });

      it("answers a key from before a redaction with the first receipt, comparing nothing", async () => {
        const log = await create();
        const [taken, waiting] = [await post(log, say("a"), "k1"), await post(log, say("b"), "k2")];
        await append(log, await hold(log), [told("secret")], { taken: 1 });
        await store.redact({ taskId: log.taskId, seqs: [2], secret: newSecret() });
        expect(await post(log, say("other"), "k1")).toEqual({ ...taken, duplicate: true, unproven: true });
        expect(await post(log, say("other"), "k2")).toEqual({ ...waiting, duplicate: true, unproven: true });
        await post(log, say("c"), "k3");
        await refused(post(log, say("other"), "k3"), "conflict");
      });

      it("makes one item of two posts at once with one key", async () => {
        const log = await create();
        const receipts = await Promise.all([post(log, say("a"), "k"), post(log, say("a"), "k")]);
        expect(receipts.map((receipt) => receipt.duplicate).sort()).toEqual([false, true]);
        expect(new Set(receipts.map((receipt) => receipt.seq))).toEqual(new Set([1]));
        expect(await rowOf(log)).toMatchObject({ inboxSeq: 1 });
      });

      it("numbers many posts at once without a gap or a double", async () => {
        const log = await create();
        const receipts = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => post(log, say(String(n)))));
        expect(seqs(receipts).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
        expect(seqs((await hold(log)).inbox)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      });

      it("consumes an item only by an append that takes it", async () => {
        const log = await create();
        await post(log, say("a"));
        await post(log, say("b"));
        const first = await hold(log);
        await untaken(log, first);
        await append(log, first, [told("other")]);
        await store.release({ taskId: log.taskId, fence: first.fence, kind: "stop" });
        const second = await hold(log);
        expect(texts(second.inbox)).toEqual(["a", "b"]);
        await append(log, second, [told("taken")], { taken: 1 });
        expect(texts(await untaken(log, second))).toEqual(["b"]);
        expect(await rowOf(log)).toMatchObject({ inboxSeq: 2, inboxTaken: 1 });
      });

      it("never gives a taken item back, though a later append takes less", async () => {
        const log = await create();
        await post(log, say("a"));
        const claim = await hold(log);
        await append(log, claim, [told("taken")], { taken: 1 });
        await append(log, claim, [told("again")], { taken: 0 });
        expect(await untaken(log, claim)).toEqual([]);
        expect(await rowOf(log)).toMatchObject({ inboxTaken: 1 });
      });

      it("refuses to take items that are not there yet", async () => {
        const log = await create();
        await post(log, say("a"));
        const claim = await hold(log);
        await refused(append(log, claim, [told("taken")], { taken: 2 }), "conflict");
        expect(texts(await untaken(log, claim))).toEqual(["a"]);
      });

      it("hands out at most a thousand items at a time", async () => {
        const one = (n: number) => ({ by: "local:root", key: `k${String(n)}`, item: say(String(n)) });
        const log = await create({ items: Array.from({ length: TAKE_ITEMS + 2 }, (_, index) => one(index + 1)) });
        const claim = await hold(log);
        expect(claim.inbox).toHaveLength(TAKE_ITEMS);
        expect(claim.inbox.at(-1)?.seq).toBe(TAKE_ITEMS);
        expect(claim.inboxSeq).toBe(TAKE_ITEMS + 2);
        await append(log, claim, [told("taken")], { taken: TAKE_ITEMS });
        expect(seqs(await untaken(log, claim))).toEqual([TAKE_ITEMS + 1, TAKE_ITEMS + 2]);
      });

      it("hands out at most four megabytes at a time, counted in bytes, but always one item", async () => {
        const log = await create();
        const frame = JSON.stringify(say("")).length;
        const ofBytes = (bytes: number): NewItem => say("ä".repeat((bytes - frame) / 2));
        for (const bytes of [TAKE_BYTES + MIB, TAKE_BYTES / 2, TAKE_BYTES / 2 - 100, 200])
          await post(log, ofBytes(bytes));
        const claim = await hold(log);
        expect(seqs(claim.inbox)).toEqual([1]);
        expect(seqs(await untaken(log, claim))).toEqual([1]);
        await append(log, claim, [told("taken")], { taken: 1 });
        expect(seqs(await untaken(log, claim))).toEqual([2, 3]);
      });

      it("reads the inbox for its holder only", async () => {
        const log = await create();
        const claim = await hold(log);
        await refused(store.readInbox({ taskId: log.taskId, fence: claim.fence - 1 }), "not_owner");
        await refused(store.readInbox({ taskId: fresh("task"), fence: 1 }), "not_found");
      });

      it("refuses an append that has not seen an untaken item", async () => {
        const log = await create();
        await post(log, say("a"));
        const claim = await hold(log);
        await post(log, say("b"));
        await refused(append(log, claim, [waits], { columns: WAITING, taken: 1, inboxSeen: 1 }), "inbox_moved");
        expect(await append(log, claim, [waits], { columns: WAITING, taken: 1, inboxSeen: 2 })).toMatchObject({
          inboxSeq: 2,
        });
      });

      it("takes an append that saw less than what was already taken", async () => {
        const log = await create();
        await post(log, say("a"));
        const claim = await hold(log);
        await append(log, claim, [told("taken")], { taken: 1 });
        expect(await append(log, claim, [waits], { inboxSeen: 0 })).toMatchObject({ lastSeq: 3 });
      });

      it("answers the untaken items of an ended task `ended`, and the taken ones as before", async () => {
        const log = await create();
        const first = await post(log, say("a"), "k1");
        await post(log, say("b"), "k2");
        const claim = await hold(log);
        await append(log, claim, [told("taken"), ends], { columns: ENDED, taken: 1 });
        await refused(post(log, say("b"), "k2"), "ended");
        await refused(post(log, say("a"), "k2"), "ended");
        expect(await post(log, say("a"), "k1")).toEqual({ ...first, duplicate: true });
        await refused(post(log, say("b"), "k1"), "conflict");
      });
    });

    describe("decisions", () => {
      const REQUEST = "ask_c6_0";
      const approvalRow = (more: Record<string, string | number | null> = {}): Row => ({
        table: "approvals",
        key: REQUEST,
        set: {
          ...{ callId: "c6_0", status: "pending", decides: "local:root", inputHash: "h", definition: "d" },
          ...{ expiresAt: null, requestedSeq: 1, settledSeq: null, ...more },
        },
      });
      const asked = (more: Record<string, string | number | null> = {}, ...rows: Row[]): Promise<Log> =>
        create({ rows: [approvalRow(more), ...rows] });
      const decide = (more: Partial<ItemOf<"Decide">> = {}): NewItem => ({
        ...{ type: "Decide", requestId: REQUEST, inputHash: "h", showing: 0, decision: "approve", ...more },
      });
      const decides = (log: Log, item: NewItem = decide(), by = "local:root", key = fresh("key")) =>
        store.post({ taskId: log.taskId, by, key, item });
      const isRefused = async (
        work: Promise<unknown>,
        refusal: DecisionRefusal,
        state: string | null,
      ): Promise<void> => {
        await expect(work).rejects.toMatchObject({ name: "StoreError", code: "conflict", refusal, state });
      };
      const show = (log: Log, frontEnd: string, requestId = REQUEST): Promise<number> =>
        store.showApproval({ taskId: log.taskId, requestId, frontEnd });
      const kept = (log: Log) => store.readDecisions({ taskId: log.taskId });

      it("takes the first into the inbox, and keeps who decided", async () => {
        const log = await asked();
        await post(log, say("before"));
        const receipt = await decides(log);
        expect(receipt).toEqual({ taskId: log.taskId, seq: 2, duplicate: false });
        await post(log, say("after"));
        const at = await store.now();
        const decided = { requestId: REQUEST, decision: "approve", by: "local:root", at, seq: 2 };
        expect(await kept(log)).toEqual({ showings: [], decided: [decided] });
        expect(await untaken(log, await hold(log))).toHaveLength(3);
      });

      it("gives the second the first's decision, and posts nothing", async () => {
        const log = await asked();
        await decides(log, decide({ decision: "deny" }));
        const second = await decides(log);
        const { decided } = await kept(log);
        expect(second).toEqual({ taskId: log.taskId, seq: 1, duplicate: true, decided: decided[0] });
        expect(decided[0]?.decision).toBe("deny");
        expect((await rowOf(log)).inboxSeq).toBe(1);
      });

      it("takes one of many that come at once", async () => {
        const log = await asked();
        const all = await Promise.all(Array.from({ length: 8 }, () => decides(log)));
        expect(all.filter((receipt) => receipt.decided === undefined)).toHaveLength(1);
        expect((await rowOf(log)).inboxSeq).toBe(1);
      });

      it("takes one from where the task lives, and from nowhere else", async () => {
        const log = await asked();
        const { origin } = await rowOf(log);
        const from = (place: string) =>
          store.post({ taskId: log.taskId, by: "local:root", key: fresh("key"), item: decide(), place });
        await refused(from(`${origin.place} too`), "not_found");
        expect(await kept(log)).toEqual({ showings: [], decided: [] });
        expect(await from(origin.place)).toMatchObject({ seq: 1, duplicate: false });
        await refused(
          store.post({ taskId: fresh("none"), by: "local:root", key: "k", item: decide(), place: "x" }),
          "not_found",
        );
      });

      it("gives a key that comes again its own receipt", async () => {
        const log = await asked();
        await decides(log, decide(), "local:root", "same");
        const again = await decides(log, decide(), "local:root", "same");
        expect(again).toEqual({ taskId: log.taskId, seq: 1, duplicate: true });
        await refused(decides(log, decide({ decision: "deny" }), "local:root", "same"), "conflict");
      });

      it("refuses one about a request that was not asked, or about another input", async () => {
        const log = await asked();
        await isRefused(decides(log, decide({ requestId: "ask_c9_9" })), "not_asked", null);
        await isRefused(decides(log, decide({ inputHash: "other" })), "changed", "pending");
        expect(await kept(log)).toEqual({ showings: [], decided: [] });
        expect((await rowOf(log)).inboxSeq).toBe(0);
      });

      it.each(["approved", "denied", "expired", "cancelled", "void"])(
        "refuses one about a request that is %s",
        async (status) => {
          const log = await asked({ status });
          await isRefused(decides(log), "settled", status);
          await isRefused(show(log, "cli"), "settled", status);
        },
      );

      it("refuses whoever the request does not name, and tells them nothing of what was decided", async () => {
        const log = await asked();
        await isRefused(decides(log, decide(), "local:bob"), "not_yours", "pending");
        await decides(log);
        await isRefused(decides(log, decide(), "local:bob"), "not_yours", "pending");
        const other = await asked({ decides: "local:bob" });
        await isRefused(decides(other), "not_yours", "pending");
        await decides(other, decide(), "local:bob");
      });

      it("refuses a collaborator, whom a request may not name", async () => {
        const collaborator: Row = { table: "collaborators", key: "local:bob", set: { seq: 1, by: "local:root" } };
        const log = await asked({ decides: "local:bob" }, collaborator);
        await isRefused(decides(log, decide(), "local:bob"), "not_yours", "pending");
        const own = await asked({}, { ...collaborator, key: "local:root" });
        await decides(own);
      });

      it("refuses one after its time, by the store's clock", async () => {
        const log = await asked({ expiresAt: (await store.now()) + 1_000 });
        clock.pass(1_000);
        await isRefused(decides(log), "expired", "pending");
        const other = await asked({ expiresAt: (await store.now()) + 1_000 });
        clock.pass(999);
        await decides(other);
      });

      it("refuses controls that a front end has put up anew, and takes those of each front end", async () => {
        const log = await asked();
        const first = await show(log, "cli");
        const there = await show(log, "discord");
        const second = await show(log, "cli");
        expect(second).toBeGreaterThan(there);
        expect((await kept(log)).showings).toEqual([
          { requestId: REQUEST, frontEnd: "cli", showing: second },
          { requestId: REQUEST, frontEnd: "discord", showing: there },
        ]);
        await isRefused(decides(log, decide({ showing: first })), "stale", "pending");
        await isRefused(decides(log, decide({ showing: second + 1 })), "stale", "pending");
        await decides(log, decide({ showing: there }));
        const other = await asked();
        await isRefused(decides(other, decide({ showing: there })), "stale", "pending");
      });

      it("shows what waits for a decision alone", async () => {
        const log = await asked();
        await isRefused(show(log, "cli", "ask_c9_9"), "not_asked", null);
        await refused(store.showApproval({ taskId: fresh("none"), requestId: REQUEST, frontEnd: "cli" }), "not_found");
        await end(log, await hold(log));
        await refused(show(log, "cli"), "ended");
        await refused(decides(log), "ended");
      });

      it("is in another epoch above every showing of an earlier one", async (context) => {
        if (opened.backup === undefined) return context.skip("this store's harness cannot restore a backup");
        const log = await asked();
        const restore = await opened.backup();
        const lost = await show(log, "cli");
        store = await restore();
        const found = await show(log, "cli");
        expect(found).toBeGreaterThan(lost);
        await isRefused(decides(log, decide({ showing: lost })), "stale", "pending");
      });

      it("keeps decisions and showings through a redaction, and loses them with the task", async () => {
        const log = await asked();
        await show(log, "cli");
        await decides(log);
        const before = await kept(log);
        await store.redact({ taskId: log.taskId, seqs: [1], secret: newSecret() });
        expect(await kept(log)).toEqual(before);
        await end(log, await hold(log));
        expect(await kept(log)).toEqual(before);
        clock.pass(10);
        await store.prune({ endedBefore: await store.now(), limit: 10_000 });
        expect(await kept(log)).toEqual({ showings: [], decided: [] });
        expect(await store.check()).toEqual([]);
      });

      it("keeps awkward texts of a request as they are", async () => {
        const odd = 'a\u0000b \u{1f600} "quoted" \u2028';
        const frontEnd = `front ${odd}`;
        const log = await create({ rows: [{ ...approvalRow({ inputHash: odd }), key: odd }] });
        const showing = await show(log, frontEnd, odd);
        await decides(log, decide({ requestId: odd, inputHash: odd, showing }));
        const { showings, decided } = await kept(log);
        expect(showings).toEqual([{ requestId: odd, frontEnd, showing }]);
        expect(decided[0]?.requestId).toBe(odd);
      });
    });

    describe("posts that name a place, and corrections", () => {
      const OWNER = "local:root";
      const FRIEND = "discord:2";
      const here = { frontEnd: "cli", place: `here ${AWKWARD}`, conversation: "c", private: false };
      const steer: NewItem = { type: "Steer", text: "rather so" };
      const named: Row = { table: "collaborators", key: FRIEND, set: { seq: 1, by: OWNER } };
      const placed = (over: Making = {}) => create({ columns: { owner: OWNER, origin: here }, rows: [named], ...over });
      const send = ({ taskId }: Log, more: Partial<Post>) =>
        store.post({ taskId, by: OWNER, key: fresh("key"), item: say("a"), ...more });

      it("takes a post from where the task lives, and from nowhere else", async () => {
        const log = await placed();
        expect(await send(log, { place: here.place })).toMatchObject({ seq: 1, duplicate: false });
        for (const place of ["", "there", here.place.slice(0, -1), "__proto__"]) {
          await refused(send(log, { place }), "not_found");
        }
        expect(await rowOf(log)).toMatchObject({ inboxSeq: 1 });
      });

      it("finds a moved task in its new place alone, also for a key that came before", async () => {
        const log = await placed();
        await send(log, { place: here.place, key: "k" });
        const claim = await hold(log);
        const origin = { ...here, place: "there", private: true };
        await append(log, claim, [told("moved")], { columns: { origin }, taken: 1 });
        await refused(send(log, { place: here.place }), "not_found");
        await refused(send(log, { place: here.place, key: "k" }), "not_found");
        expect(await send(log, { place: "there", key: "k" })).toMatchObject({ seq: 1, duplicate: true });
      });

      it("says that a task was forgotten or has ended as for any post", async (context) => {
        const [log, gone] = [await placed(), await placed({ rows: [] })];
        await end(log, await hold(log));
        await refused(send(log, { place: here.place }), "ended");
        await refused(send(log, { item: steer }), "ended");
        await refused(store.post({ taskId: fresh("task"), by: OWNER, key: "k", item: steer, place: "x" }), "not_found");
        await forget(context, gone.taskId);
        await refused(send(gone, { place: here.place }), "forgotten");
        await refused(send(gone, { item: steer }), "forgotten");
      });

      it("takes a correction of the owner and of a named collaborator, and of nobody else", async () => {
        const log = await placed();
        expect(await send(log, { item: steer })).toMatchObject({ seq: 1 });
        expect(await send(log, { item: steer, by: FRIEND, place: here.place })).toMatchObject({ seq: 2 });
        expect(await send(log, { item: steer, by: FRIEND })).toMatchObject({ seq: 3 });
        for (const by of ["discord:3", "discord:", "discord:22", "", OWNER.slice(1), "__proto__"]) {
          await refused(send(log, { item: steer, by }), "not_found");
        }
        await refused(send(log, { item: steer, by: FRIEND, place: "there" }), "not_found");
        expect(await rowOf(log)).toMatchObject({ inboxSeq: 3 });
      });

      it("takes none of a collaborator that was dismissed, of another task's, or in a private task", async () => {
        const [log, other] = [await placed(), await placed({ rows: [] })];
        const closed = await placed({ columns: { owner: OWNER, origin: { ...here, private: true } } });
        await refused(send(other, { item: steer, by: FRIEND }), "not_found");
        await refused(send(closed, { item: steer, by: FRIEND }), "not_found");
        expect(await send(closed, { item: steer })).toMatchObject({ seq: 1 });
        expect(await send(log, { item: steer, by: FRIEND, key: "k" })).toMatchObject({ seq: 1 });
        await append(log, await hold(log), [told("dismissed")], { rows: [{ ...named, set: null }], taken: 1 });
        await refused(send(log, { item: steer, by: FRIEND }), "not_found");
        await refused(send(log, { item: steer, by: FRIEND, key: "k" }), "not_found");
      });
    });

    describe("timers", () => {
      const due = async (dueAt: number, id = "t") => create({ rows: [timerRow(id, dueAt)] });
      const fired = (id: string, dueAt: number) => JSON.stringify({ type: "TimerFired", timerId: id, dueAt });

      it("shows the next timer of a task in its row", async () => {
        const at = clock.wall() + 100;
        const log = await create({ rows: [timerRow("late", at + 50), timerRow("early", at)] });
        expect(await rowOf(log)).toMatchObject({ nextTimerAt: at });
        const claim = await hold(log);
        await append(log, claim, [told("a")], { rows: [{ table: "timers", key: "early", set: null }] });
        expect(await rowOf(log)).toMatchObject({ nextTimerAt: at + 50 });
        await append(log, claim, [told("b")], { rows: [timerRow("late", at + 70)] });
        expect(await rowOf(log)).toMatchObject({ nextTimerAt: at + 70 });
      });

      it("gives a due timer an inbox seq and a key when it is claimed", async () => {
        const at = clock.wall() + 100;
        const log = await due(at);
        await post(log, say("a"));
        clock.pass(105);
        const claim = await hold(log);
        expect(claim.inbox[1]).toEqual({
          seq: 2,
          at: clock.wall(),
          by: "core",
          key: `core:timer:t:${String(at)}`,
          body: fired("t", at),
        });
        expect(await rowOf(log)).toMatchObject({ inboxSeq: 2, nextTimerAt: null });
      });

      it("leaves a timer that is not due where it is", async () => {
        const at = clock.wall() + 100;
        const log = await due(at);
        clock.pass(99);
        const claim = await hold(log);
        expect(claim.inbox).toEqual([]);
        expect(await untaken(log, claim)).toEqual([]);
        expect(await rowOf(log)).toMatchObject({ inboxSeq: 0, nextTimerAt: at });
      });

      it("moves a timer that falls due under the claim in when the inbox is read", async () => {
        const at = clock.wall() + 100;
        const log = await due(at);
        const claim = await hold(log);
        clock.pass(100);
        expect(await untaken(log, claim)).toMatchObject([{ seq: 1, by: "core", body: fired("t", at) }]);
      });

      it("takes a task back from a worker that stops, although a timer of it is due", async () => {
        const log = await due(clock.wall() + 100);
        const { fence } = await hold(log);
        clock.pass(100);
        const parked = store.release({ taskId: log.taskId, fence, kind: "parked", inboxSeen: 0 });
        await expect(parked).rejects.toMatchObject({ code: "inbox_moved" });
        await store.release({ taskId: log.taskId, fence, kind: "stop" });
        expect(bodies((await hold(log)).inbox)).toEqual([fired("t", clock.wall())]);
      });

      it("moves timers in by the time they were due", async () => {
        const at = clock.wall() + 100;
        const log = await create({ rows: [timerRow("a", at + 20), timerRow("b", at), timerRow("c", at + 10)] });
        clock.pass(200);
        expect(bodies((await hold(log)).inbox)).toEqual([fired("b", at), fired("c", at + 10), fired("a", at + 20)]);
      });

      it("fires a timer once, also when nobody took it for a while", async () => {
        const at = clock.wall() + 100;
        const log = await due(at);
        clock.pass(100);
        const claim = await hold(log);
        await untaken(log, claim);
        clock.pass(LEASE_MS + 1);
        const second = await hold(log);
        expect(seqs(second.inbox)).toEqual([1]);
        await append(log, second, [told("taken")], { taken: 1, rows: [{ table: "timers", key: "t", set: null }] });
        expect(await untaken(log, second)).toEqual([]);
      });

      it("fires a timer that was set anew to a later time again", async () => {
        const at = clock.wall() + 100;
        const log = await due(at);
        clock.pass(100);
        const claim = await hold(log);
        expect(claim.inbox).toHaveLength(1);
        await append(log, claim, [told("again")], { taken: 1, rows: [timerRow("t", at + 50)] });
        clock.pass(50);
        expect(bodies(await untaken(log, claim))).toEqual([fired("t", at + 50)]);
      });

      it("does not fire a timer that was cancelled", async () => {
        const log = await due(clock.wall() + 100);
        const claim = await hold(log);
        await append(log, claim, [told("no")], { rows: [{ table: "timers", key: "t", set: null }] });
        clock.pass(100);
        expect(await untaken(log, claim)).toEqual([]);
      });

      it("refuses an append that has not seen a due timer", async () => {
        const log = await due(clock.wall() + 100);
        const claim = await hold(log);
        clock.pass(100);
        await refused(append(log, claim, [waits], { columns: WAITING, inboxSeen: 0 }), "inbox_moved");
        const [item] = await untaken(log, claim);
        await refused(append(log, claim, [waits], { columns: WAITING, inboxSeen: 0 }), "inbox_moved");
        const inboxSeen = item?.seq ?? 0;
        expect(await append(log, claim, [waits], { columns: WAITING, inboxSeen })).toMatchObject({ inboxSeq: 1 });
      });

      it("takes an append that sets a timer already due, and tells it so", async () => {
        const log = await create();
        const rows = [timerRow("t", clock.wall() - 1)];
        const receipt = await append(log, await hold(log), [waits], { columns: WAITING, rows, inboxSeen: 0 });
        expect(receipt).toMatchObject({ lastSeq: 2, timerDue: true });
      });

      it("has no timers left after the end", async () => {
        const log = await due(clock.wall() + 100);
        await end(log, await hold(log));
        expect(await store.readRows({ taskId: log.taskId, table: "timers" })).toEqual([]);
        expect(await rowOf(log)).toMatchObject({ nextTimerAt: null });
      });

      it("fires no timer early or twice when the wall clock goes back", async () => {
        const at = clock.wall() + 100;
        const log = await due(at);
        clock.pass(100);
        await hold(log);
        clock.setWall(at - 1_000);
        clock.pass(LEASE_MS + 1);
        clock.setWall(at + 1);
        expect(seqs((await hold(log)).inbox)).toEqual([1]);
      });
    });

    describe("what an append carries", () => {
      const carrying = (log: { taskId: string }, item: NewItem, key = fresh("key")) => ({
        taskId: log.taskId,
        by: "task:child",
        key,
        item,
      });

      it("posts to other tasks in the same transaction", async () => {
        const [log, other] = [await create(), await parked()];
        const posts = [carrying(other, say("a"), "k1"), carrying(other, say("b"), "k2")];
        await append(log, await hold(log), [told("a")], { posts });
        expect(await hold(other)).toMatchObject({
          inbox: [
            { by: "task:child", key: "k1", body: JSON.stringify(say("a")) },
            { by: "task:child", key: "k2", body: JSON.stringify(say("b")) },
          ],
        });
      });

      it("posts to its own task, and tells so", async () => {
        const log = await create();
        const receipt = await append(log, await hold(log), [told("a")], { posts: [carrying(log, say("a"))] });
        expect(receipt).toMatchObject({ inboxSeq: 1 });
      });

      it("drops what it carries for a task that has ended or is not there", async () => {
        const [log, over] = [await create(), await create()];
        await end(over, await hold(over));
        const posts = [carrying(over, say("a")), carrying({ taskId: fresh("task") }, say("b"))];
        expect(await append(log, await hold(log), [told("a")], { posts })).toMatchObject({ lastSeq: 2 });
        expect(await rowOf(over)).toMatchObject({ inboxSeq: 0 });
      });

      it("drops what it carries for a forgotten task", async (context) => {
        const [log, gone] = [await create(), await create()];
        await forget(context, gone.taskId);
        const posts = [carrying(gone, say("a"))];
        expect(await append(log, await hold(log), [told("a")], { posts })).toMatchObject({ lastSeq: 2 });
      });

      it("drops a carried item whose key came before, with the same body or another", async () => {
        const [log, other] = [await create(), await create()];
        await post(other, say("a"), "k");
        const posts = [carrying(other, say("a"), "k"), carrying(other, say("b"), "k"), carrying(other, say("c"))];
        expect(await append(log, await hold(log), [told("a")], { posts })).toMatchObject({ lastSeq: 2 });
        expect(texts((await hold(other)).inbox)).toEqual(["a", "c"]);
      });

      it("creates children in the same transaction, with items of their own and from it", async () => {
        const log = await create();
        const items = [{ by: "core", key: "k1", item: say("begin") }];
        const child = making({ columns: { parent: log.taskId, root: log.taskId }, items });
        const posts = [carrying(child.log, say("more"), "k2")];
        await append(log, await hold(log), [told("a")], { children: [child.params], posts });
        expect(await rowOf(child.log)).toMatchObject({ parent: log.taskId, root: log.taskId, status: "ready" });
        expect(texts((await hold(child.log)).inbox)).toEqual(["begin", "more"]);
      });

      it("refuses the whole append when a child's id is taken", async () => {
        const [log, other] = [await create(), await create()];
        const claim = await hold(log);
        const [first, taken] = [making(), making({ taskId: other.taskId })];
        const children = [first.params, taken.params];
        await refused(append(log, claim, [told("a")], { children }), "conflict");
        await refused(append(log, claim, [told("a")], { children: [first.params, first.params] }), "conflict");
        expect(await store.getTask({ taskId: first.log.taskId })).toBeNull();
        expect(await readAll(log)).toHaveLength(1);
      });
    });

    describe("claims", () => {
      /** Claims whatever is next in a queue of this test's own. */
      const claimNext = async (queue: string, over: Partial<ClaimParams> = {}) =>
        store.claim(claiming({ queues: [queue], ...over }));
      const nextId = async (queue: string, over: Partial<ClaimParams> = {}) =>
        (await claimNext(queue, over))?.taskId ?? null;

      it("gives log, inbox, secret, chain, revision and the store's time", async () => {
        const queue = fresh("queue");
        const log = await create({ columns: { queue } });
        await post(log, say("a"));
        const claim = await claimNext(queue);
        expect(claim).toMatchObject({ taskId: log.taskId, agent: "scribe", secret: log.secret });
        expect(claim).toMatchObject({ lastSeq: 1, chain: log.chain });
        expect(claim).toMatchObject({ now: clock.wall(), snapshot: null, attempts: 1, previousEndedAt: null });
        expect(claim?.revision).toBe((await rowOf(log)).revision);
        expect(claim?.epoch).toBeGreaterThan(0);
        const [entry] = await readAll(log);
        const { seq, at, type, body } = entry as Envelope;
        expect(claim?.entries).toEqual([{ seq, at, type, body }]);
        expect(texts(claim?.inbox ?? [])).toEqual(["a"]);
      });

      it("finds nothing where there is nothing", async () => {
        expect(await claimNext(fresh("queue"))).toBeNull();
      });

      it("finds a task that was created and never begun", async () => {
        const queue = fresh("queue");
        const log = await create({ columns: { queue } });
        expect(await nextId(queue)).toBe(log.taskId);
      });

      it("finds a waiting task only when an item came or a timer is due", async () => {
        const [posted, timed] = [fresh("queue"), fresh("queue")];
        const log = await parked({ columns: { queue: posted } });
        const other = await parked({ columns: { queue: timed }, rows: [timerRow("t", clock.wall() + 100)] });
        expect([await nextId(posted), await nextId(timed)]).toEqual([null, null]);
        await post(log, say("a"));
        expect([await nextId(posted), await nextId(timed)]).toEqual([log.taskId, null]);
        clock.pass(99);
        expect(await nextId(timed)).toBeNull();
        clock.pass(1);
        expect(await nextId(timed)).toBe(other.taskId);
      });

      it("finds a task whose holder vanished in mid-turn", async () => {
        const queue = fresh("queue");
        const log = await create({ columns: { queue } });
        await append(log, await hold(log), [told("a")], { columns: RUNNING });
        expect(await nextId(queue)).toBeNull();
        clock.pass(LEASE_MS);
        expect(await nextId(queue)).toBe(log.taskId);
      });

      it("leaves a task alone whose holder vanished after its Waiting", async () => {
        const queue = fresh("queue");
        const log = await create({ columns: { queue } });
        await append(log, await hold(log), [waits], { columns: WAITING });
        clock.pass(LEASE_MS);
        expect(await nextId(queue)).toBeNull();
      });

      it("leaves an ended task alone, whatever its inbox holds", async () => {
        const queue = fresh("queue");
        const log = await create({ columns: { queue }, rows: [timerRow("t", clock.wall())] });
        await post(log, say("a"));
        const claim = await hold(log);
        await end(log, claim);
        await store.release({ taskId: log.taskId, fence: claim.fence, kind: "stop" });
        expect(await nextId(queue)).toBeNull();
      });

      it("raises the fence with every claim, and shows it in the row", async () => {
        const log = await create();
        const first = await hold(log);
        clock.pass(LEASE_MS);
        const second = await hold(log);
        await store.release({ taskId: log.taskId, fence: second.fence, kind: "stop" });
        const third = await hold(log);
        expect(second.fence).toBeGreaterThan(first.fence);
        expect(third.fence).toBeGreaterThan(second.fence);
        expect(await rowOf(log)).toMatchObject({ fence: third.fence });
      });

      it("shows who holds a task for as long as the lease runs", async () => {
        const log = await create();
        await hold(log, { worker: "w7" });
        expect(await rowOf(log)).toMatchObject({ claimedBy: "w7" });
        clock.pass(LEASE_MS);
        expect(await rowOf(log)).toMatchObject({ claimedBy: null });
        const claim = await hold(log, { worker: "w8" });
        await store.release({ taskId: log.taskId, fence: claim.fence, kind: "stop" });
        expect(await rowOf(log)).toMatchObject({ claimedBy: null });
      });

      it("gives a task to one of two that claim at once", async () => {
        const queue = fresh("queue");
        await create({ columns: { queue } });
        const claims = await Promise.all([claimNext(queue), claimNext(queue, { worker: "w2" })]);
        expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
      });

      it("serves the highest priority first, and a change of it", async () => {
        const queue = fresh("queue");
        const low = await create({ columns: { queue, priority: -1 } });
        const middle = await create({ columns: { queue } });
        const high = await parked({ columns: { queue, priority: 2 } });
        await append(middle, await hold(middle), [waits], { columns: { ...WAITING, priority: 3 } });
        clock.pass(LEASE_MS);
        for (const log of [high, middle]) await post(log, say("a"));
        expect(await nextId(queue)).toBe(middle.taskId);
        expect(await nextId(queue)).toBe(high.taskId);
        expect(await nextId(queue)).toBe(low.taskId);
      });

      it("serves the task first that has been ready longest, by creation, item or timer", async () => {
        const queue = fresh("queue");
        const timed = await parked({ columns: { queue }, rows: [timerRow("t", clock.wall() + 20)] });
        const posted = await parked({ columns: { queue } });
        clock.pass(10);
        await post(posted, say("a"));
        clock.pass(20);
        const created = await create({ columns: { queue } });
        clock.pass(1);
        await post(posted, say("b"));
        expect(await nextId(queue)).toBe(posted.taskId);
        expect(await nextId(queue)).toBe(timed.taskId);
        expect(await nextId(queue)).toBe(created.taskId);
      });

      it("puts a task that was claimed and given back, or let lapse, behind those that were ready before that", async () => {
        const queue = fresh("queue");
        const [first, second] = [await create({ columns: { queue } }), await create({ columns: { queue } })];
        for (const log of [first, second, first]) {
          clock.pass(10);
          const claim = await claimNext(queue);
          expect(claim?.taskId).toBe(log.taskId);
          await store.release({ taskId: log.taskId, fence: claim?.fence ?? 0, kind: "stop" });
        }
        expect(await nextId(queue)).toBe(second.taskId);
        clock.pass(LEASE_MS);
        expect(await nextId(queue)).toBe(first.taskId);
        await post(second, say("a"));
        expect(await nextId(queue)).toBe(second.taskId);
      });

      describe("between principals", () => {
        /** Principals of this test alone, in their order. */
        const principals = (count: number): string[] => {
          const kind = fresh("kind");
          return Array.from({ length: count }, (_, n) => `${kind}:${String(n).padStart(4, "0")}`);
        };
        const createMany = async (queue: string, owner: string, count: number, more: Making = {}): Promise<void> => {
          for (let n = 0; n < count; n += 1) await create({ ...more, columns: { queue, owner, ...more.columns } });
        };

        /** Claims as one worker does, so many times; `done` after each claim. Gives the owners in the order of claims. */
        const serve = async (queue: string, count: number, done: (log: Log, claim: Claim) => Promise<void>) => {
          const owners: string[] = [];
          const served: Record<number, string> = {};
          for (let n = 0; n < count; n += 1) {
            const claim = await claimNext(queue, { served });
            if (claim === null) break;
            served[claim.served.priority] = claim.served.principal;
            const { taskId, secret, lastSeq: seq, chain } = claim;
            owners.push((await rowOf(claim)).owner);
            await done({ taskId, secret, seq, chain, columns: columnsFor(taskId, {}) }, claim);
          }
          return owners;
        };
        const keep = async (): Promise<void> => undefined;

        it("serves whoever has the fewest tasks under a lease, though others were ready before", async () => {
          const queue = fresh("queue");
          const [a = "", b = ""] = principals(2);
          await createMany(queue, a, 5);
          clock.pass(10);
          await createMany(queue, b, 3);
          expect((await serve(queue, 7, keep)).map((owner) => (owner === a ? "a" : "b")).join("")).toBe("abababa");
          clock.pass(LEASE_MS);
          expect(await claimNext(queue)).not.toBeNull();
        });

        it("serves those with equally few one after the other, and begins again", async () => {
          const queue = fresh("queue");
          const [a = "", b = "", c = ""] = principals(3);
          await createMany(queue, a, 40);
          clock.pass(10);
          await createMany(queue, c, 2);
          await createMany(queue, b, 2);
          expect(await serve(queue, 8, park)).toEqual([a, b, c, a, b, c, a, a]);
        });

        it("serves as fairly those that are claimed in one moment, and gives the claims too many nothing", async () => {
          const queue = fresh("queue");
          const [a = "", b = "", c = ""] = principals(3);
          await createMany(queue, a, 6);
          clock.pass(10);
          for (const owner of [b, c]) await createMany(queue, owner, 2);
          const claimTogether = async (count: number): Promise<readonly string[]> => {
            const asked = Array.from({ length: count }, () => claimNext(queue, { served: { 0: a } }));
            const claims = (await Promise.all(asked)).filter((claim) => claim !== null);
            expect(new Set(claims.map(({ taskId }) => taskId)).size).toBe(claims.length);
            return (await Promise.all(claims.map(async (claim) => (await rowOf(claim)).owner))).sort();
          };
          expect(await claimTogether(3)).toEqual([a, b, c]);
          expect(await claimTogether(4)).toEqual([a, a, b, c]);
          expect(await claimTogether(6)).toEqual([a, a, a]);
        });

        it("begins after the one that a worker names, for each priority on its own", async () => {
          const queue = fresh("queue");
          const [a = "", b = "", c = ""] = principals(3);
          for (const owner of [a, b, c]) await createMany(queue, owner, 1);
          const after = async (served: Record<number, string>): Promise<string | undefined> => {
            const claim = await claimNext(queue, { served });
            if (claim === null) return undefined;
            await store.release({ taskId: claim.taskId, fence: claim.fence, kind: "stop" });
            expect(claim.served).toEqual({ priority: 0, principal: (await rowOf(claim)).owner });
            return claim.served.principal;
          };
          expect(await after({ 0: a })).toBe(b);
          expect(await after({ 0: b, 1: a, [-1]: c })).toBe(c);
          expect(await after({ 0: c })).toBe(a);
          expect(await after({ 1: b })).toBe(a);
        });

        it("serves the longest ready of one principal's tasks, and the highest priority before any principal", async () => {
          const queue = fresh("queue");
          const [a = "", b = ""] = principals(2);
          const first = await create({ columns: { queue, owner: a } });
          clock.pass(10);
          const second = await create({ columns: { queue, owner: a } });
          await createMany(queue, b, 2, { columns: { priority: 1 } });
          expect(await serve(queue, 2, keep)).toEqual([b, b]);
          expect([await nextId(queue), await nextId(queue)]).toEqual([first.taskId, second.taskId]);
        });

        it("gives every one of many its claim, while one has more ready than all of them", async () => {
          const queue = fresh("queue");
          const [busy = "", ...others] = principals(71);
          await createMany(queue, busy, 90);
          clock.pass(10);
          for (const owner of others) await createMany(queue, owner, 1);
          expect((await serve(queue, 71, park)).toSorted()).toEqual([busy, ...others]);
        });

        it("gives every one of many its claim, while one with tasks under a lease has more ready", async () => {
          const queue = fresh("queue");
          const [busy = "", ...others] = principals(71);
          await createMany(queue, busy, 90);
          expect(await serve(queue, 2, keep)).toEqual([busy, busy]);
          clock.pass(10);
          for (const owner of others) await createMany(queue, owner, 1);
          expect(await serve(queue, 70, park)).toEqual(others);
        });

        it("gives one its claim that comes after many who wait for a time", async () => {
          const queue = fresh("queue");
          const [busy = "", ...others] = principals(141);
          const late = others.pop() ?? "";
          await createMany(queue, busy, 30);
          const rows = [timerRow("t", clock.wall() + 1_000_000)];
          for (const owner of others) await createMany(queue, owner, 1, { columns: WAITING, rows });
          clock.pass(10);
          await createMany(queue, late, 1);
          const owners = await serve(queue, 5, park);
          expect(owners).toContain(late);
          expect(owners.filter((owner) => owner === busy)).toHaveLength(4);
        });
      });

      it("tells since when the longest ready task that a worker could claim has been ready", async () => {
        const [queue, other] = [fresh("queue"), fresh("queue")];
        const since = (over: Partial<ClaimParams> = {}): Promise<number | null> => {
          const { offers, build, queues = [queue] } = claiming(over);
          return store.readySince({ offers, build, queues });
        };
        expect(await since()).toBeNull();
        const start = clock.wall();
        await create({ columns: { queue, requires: ["agent:other"] } });
        await create({ columns: { queue: other } });
        clock.pass(10);
        const log = await create({ columns: { queue } });
        await parked({ columns: { queue }, rows: [timerRow("t", start + 30)] });
        clock.pass(5);
        await create({ columns: { queue, priority: 7 } });
        expect(await since()).toBe(start + 10);
        expect(await since({ offers: ["agent:scribe", "agent:other"] })).toBe(start);
        const { fence } = await hold(log);
        expect(await since()).toBe(start + 15);
        await nextId(queue);
        expect(await since()).toBeNull();
        clock.pass(20);
        expect(await since()).toBe(start + 30);
        await nextId(queue);
        const held = { reason: "r", build: "build 1", retryAfterMs: 1_000 } as const;
        await store.release({ taskId: log.taskId, fence, kind: "held", ...held });
        expect([await since(), await since({ build: "build 2" })]).toEqual([null, clock.wall()]);
      });

      it("gives a task only to a worker that offers all it requires", async () => {
        const queue = fresh("queue");
        const log = await create({ columns: { queue, requires: ["agent:scribe", "host:h1", "plugin:fs"] } });
        const offers = ["agent:scribe", "plugin:fs"];
        expect(await nextId(queue, { offers })).toBeNull();
        expect(await nextId(queue, { offers: ["agent:scribe", "host:h12", "plugin:fs"] })).toBeNull();
        expect(await nextId(queue, { offers: [] })).toBeNull();
        expect(await store.claim(claiming({ taskId: log.taskId, offers }))).toBeNull();
        expect(await nextId(queue, { offers: [...offers, "agent:other", "host:h1"] })).toBe(log.taskId);
      });

      it("passes over a task that it cannot serve to one that it can", async () => {
        const queue = fresh("queue");
        await create({ columns: { queue, priority: 9, requires: ["agent:other"] } });
        const log = await create({ columns: { queue } });
        expect(await nextId(queue)).toBe(log.taskId);
      });

      it("claims from the named queues, or from any", async () => {
        const [one, other, agent] = [fresh("queue"), fresh("queue"), fresh("agent")];
        const requires = [`agent:${agent}`];
        const logs = [one, other].map(async (queue) => create({ columns: { queue, requires } }));
        const [first, second] = (await Promise.all(logs)) as [Log, Log];
        expect(await nextId(other, { offers: requires })).toBe(second.taskId);
        expect(await nextId(other, { offers: requires })).toBeNull();
        expect((await store.claim(claiming({ offers: requires, queues: [other, one] })))?.taskId).toBe(first.taskId);
        const third = await create({ columns: { queue: fresh("queue"), requires, priority: 1_000_000 } });
        expect((await store.claim(claiming({ offers: requires })))?.taskId).toBe(third.taskId);
      });

      it("claims a named task alone, whatever else is ready", async () => {
        const queue = fresh("queue");
        await create({ columns: { queue, priority: 9 } });
        const log = await create({ columns: { queue } });
        expect(await nextId(queue, { taskId: log.taskId })).toBe(log.taskId);
        expect(await nextId(fresh("queue"), { taskId: (await create({ columns: { queue } })).taskId })).toBeNull();
      });

      it("claims no named task that is leased, has nothing to do, has ended or is not there", async () => {
        const [leased, idle, over] = [await create(), await parked(), await create()];
        await hold(leased);
        await end(over, await hold(over));
        for (const taskId of [leased.taskId, idle.taskId, over.taskId, fresh("task")]) {
          expect(await store.claim(claiming({ taskId, worker: "w2" }))).toBeNull();
        }
        clock.pass(LEASE_MS);
        for (const taskId of [idle.taskId, over.taskId]) expect(await store.claim(claiming({ taskId }))).toBeNull();
      });

      it("lets a lease run out by the monotonic clock, wherever the wall clock jumps", async () => {
        const log = await create();
        await hold(log);
        const id = async () => (await store.claim(claiming({ taskId: log.taskId })))?.taskId ?? null;
        clock.setWall(clock.wall() + 10 * LEASE_MS);
        expect(await id()).toBeNull();
        clock.setWall(clock.wall() - 20 * LEASE_MS);
        clock.pass(LEASE_MS - 1);
        expect(await id()).toBeNull();
        clock.pass(1);
        expect(await id()).toBe(log.taskId);
      });

      it("lets a lease run out that was given before the machine started anew", async () => {
        const log = await create();
        await hold(log);
        clock.reboot();
        clock.setWall(clock.wall() + LEASE_MS);
        expect(await hold(log)).toMatchObject({ attempts: 2 });
      });

      it("extends a lease from now on", async () => {
        const log = await create();
        const { taskId } = log;
        const { fence } = await hold(log);
        clock.pass(LEASE_MS - 1);
        await store.renew({ taskId, fence, leaseMs: LEASE_MS });
        clock.pass(LEASE_MS - 1);
        expect(await store.claim(claiming({ taskId }))).toBeNull();
        clock.pass(1);
        expect(await hold(log)).toMatchObject({ taskId });
        await refused(store.renew({ taskId, fence, leaseMs: LEASE_MS }), "not_owner");
      });

      it("renews a lease that ran out, as long as nobody else claimed", async () => {
        const log = await create();
        const { fence } = await hold(log);
        clock.pass(LEASE_MS + 1);
        await store.renew({ taskId: log.taskId, fence, leaseMs: LEASE_MS });
        expect(await store.claim(claiming({ taskId: log.taskId }))).toBeNull();
      });

      it("refuses to renew what was given back, is not there, or was forgotten", async (context) => {
        const log = await create();
        const { taskId } = log;
        const { fence } = await hold(log);
        await store.release({ taskId, fence, kind: "stop" });
        await refused(store.renew({ taskId, fence, leaseMs: LEASE_MS }), "not_owner");
        await refused(store.renew({ taskId: fresh("task"), fence, leaseMs: LEASE_MS }), "not_found");
        await forget(context, taskId);
        await refused(store.renew({ taskId, fence, leaseMs: LEASE_MS }), "forgotten");
      });

      it("makes a stopped task ready at once", async () => {
        const queue = fresh("queue");
        const log = await create({ columns: { queue } });
        const claim = await hold(log);
        await append(log, claim, [told("a")], { columns: RUNNING });
        await store.release({ taskId: log.taskId, fence: claim.fence, kind: "stop" });
        expect(await nextId(queue, { worker: "w2" })).toBe(log.taskId);
      });

      it("parks a task until something comes", async () => {
        const queue = fresh("queue");
        const log = await parked({ columns: { queue } });
        expect(await nextId(queue)).toBeNull();
        await post(log, say("a"));
        expect(await nextId(queue)).toBe(log.taskId);
      });

      it("refuses to park on an item or a due timer that was not seen, and leaves the claim", async () => {
        const log = await create({ rows: [timerRow("t", clock.wall() + 100)] });
        const claim = await hold(log);
        const park = { taskId: log.taskId, fence: claim.fence, kind: "parked" } as const;
        await append(log, claim, [waits], { columns: WAITING, inboxSeen: 0 });
        await post(log, say("a"));
        await refused(store.release({ ...park, inboxSeen: 0 }), "inbox_moved");
        clock.pass(100);
        await refused(store.release({ ...park, inboxSeen: 1 }), "inbox_moved");
        expect(await untaken(log, claim)).toHaveLength(2);
        await store.release({ ...park, inboxSeen: 2 });
      });

      it("stops or holds whatever the inbox has", async () => {
        const log = await create();
        const { taskId } = log;
        await post(log, say("a"));
        await store.release({ taskId, fence: (await hold(log)).fence, kind: "stop" });
        const { fence } = await hold(log);
        await store.release({ taskId, fence, kind: "held", reason: "r", build: "build 1", retryAfterMs: 5 });
        expect(await rowOf(log)).toMatchObject({ held: { reason: "r" } });
      });

      it("refuses to give back what another holds, what was given back, and what is not there", async () => {
        const log = await create();
        const { taskId } = log;
        const { fence } = await hold(log);
        await refused(store.release({ taskId, fence: fence - 1, kind: "stop" }), "not_owner");
        await store.release({ taskId, fence, kind: "stop" });
        await refused(store.release({ taskId, fence, kind: "stop" }), "not_owner");
        await refused(store.release({ taskId: fresh("task"), fence, kind: "stop" }), "not_found");
      });

      it("counts the claims since a holder last gave the task back", async () => {
        const log = await create();
        const attempts: number[] = [];
        const claims: Claim[] = [];
        for (let index = 0; index < 3; index += 1) {
          claims.push(await hold(log));
          clock.pass(LEASE_MS);
        }
        const last = claims.at(-1) as Claim;
        await store.release({ taskId: log.taskId, fence: last.fence, kind: "stop" });
        claims.push(await hold(log));
        for (const claim of claims) attempts.push(claim.attempts);
        expect(attempts).toEqual([1, 2, 3, 1]);
      });

      it("tells when the claim before this one ended, by release or by its lease", async () => {
        const log = await create();
        const first = await hold(log);
        clock.pass(10);
        await store.release({ taskId: log.taskId, fence: first.fence, kind: "stop" });
        const released = clock.wall();
        clock.pass(10);
        const second = await hold(log);
        clock.pass(LEASE_MS + 10);
        const third = await hold(log);
        expect([first.previousEndedAt, second.previousEndedAt]).toEqual([null, released]);
        expect(third.previousEndedAt).toBe(clock.wall() - 10);
      });

      it("counts a renewed lease to its new end", async () => {
        const log = await create();
        const { fence } = await hold(log);
        clock.pass(10);
        await store.renew({ taskId: log.taskId, fence, leaseMs: LEASE_MS });
        clock.pass(LEASE_MS + 7);
        expect((await hold(log)).previousEndedAt).toBe(clock.wall() - 7);
      });

      it("keeps its epoch from claim to claim", async () => {
        const log = await create();
        const first = await hold(log);
        clock.pass(LEASE_MS);
        expect((await hold(log)).epoch).toBe(first.epoch);
      });
    });

    describe("epochs", () => {
      /** Backs up and restores at once; from here on `store` is what was restored. */
      const restore = async (context: TestContext): Promise<number> => {
        if (opened.backup === undefined) return context.skip("this store's harness cannot restore a backup");
        const backupAt = await store.now();
        store = await (await opened.backup())();
        return backupAt;
      };

      it("begin with a restore, and tell each open task's claim of the backup", async (context) => {
        const log = await create();
        const before = (await hold(log)).epoch;
        const backupAt = await restore(context);
        clock.pass(LEASE_MS);
        expect((await rowOf(log)).restoredFrom).toBe(backupAt);
        const claim = await hold(log);
        expect(claim.epoch).toBeGreaterThan(before);
        expect(claim.restoredFrom).toBe(backupAt);
      });

      it("are told of until an append tells them to the log", async (context) => {
        const log = await create();
        const backupAt = await restore(context);
        const first = await hold(log);
        await append(log, first, [told("a")], { columns: RUNNING });
        await store.release({ taskId: log.taskId, fence: first.fence, kind: "stop" });
        const second = await hold(log);
        expect(second.restoredFrom).toBe(backupAt);
        await append(log, second, [told("b")], { epoch: second.epoch });
        expect((await rowOf(log)).restoredFrom).toBeNull();
        await store.release({ taskId: log.taskId, fence: second.fence, kind: "stop" });
        expect(await hold(log)).toMatchObject({ restoredFrom: null, epoch: second.epoch });
      });

      it("are told of by nothing of a refused append", async (context) => {
        const log = await create();
        const backupAt = await restore(context);
        const claim = await hold(log);
        await post(log, say("hello"));
        const params = appending(log, claim, [told("a")], { epoch: claim.epoch, inboxSeen: 0 });
        await refused(store.append(params), "inbox_moved");
        expect((await rowOf(log)).restoredFrom).toBe(backupAt);
      });

      it("have nothing to tell to a task that was created after, was imported after, or has ended", async (context) => {
        const ended = await create();
        await end(ended, await hold(ended));
        const { taskId } = ended;
        await store.release({ taskId, fence: (await rowOf(ended)).fence, kind: "stop" });
        await restore(context);
        const log = await create();
        expect((await rowOf(log)).restoredFrom).toBeNull();
        expect((await hold(log)).restoredFrom).toBeNull();
        expect((await rowOf(ended)).restoredFrom).toBeNull();
        const importing = { taskId: fresh("import"), bundle: await store.exportTask({ taskId: log.taskId }) };
        await store.importTask({ ...importing, secret: newSecret(), columns: log.columns, rows: [] });
        expect((await rowOf(importing)).restoredFrom).toBeNull();
      });

      it("are told of by the earliest of several backups", async (context) => {
        const log = await create();
        const earliest = await restore(context);
        clock.pass(5_000);
        const between = await create();
        const latest = await restore(context);
        expect(latest).toBeGreaterThan(earliest);
        expect((await rowOf(log)).restoredFrom).toBe(earliest);
        expect((await rowOf(between)).restoredFrom).toBe(latest);
      });

      it("end every lease, and raise every fence above any that was given out", async (context) => {
        const log = await create();
        const claim = await hold(log);
        await restore(context);
        expect(await rowOf(log)).toMatchObject({ claimedBy: null });
        const next = await hold(log);
        expect(next.fence).toBeGreaterThan(claim.fence + 1_000_000);
        expect(next.attempts).toBe(1);
        await refused(store.append(appending(log, claim, [told("late")])), "not_owner");
      });

      it("make every task ready that may have gone on since the backup, and no other", async (context) => {
        const [midTurn, asking, paused, timed, ended] = [
          ...([await create(), await create(), await create(), await create(), await create()] as const),
        ];
        const [untold, resting] = [await parked(), await parked()];
        await append(midTurn, await hold(midTurn), [told("a")], { columns: RUNNING });
        await append(asking, await hold(asking), [waits], {
          columns: { ...WAITING, outcome: null, waitingOn: "answer" },
        });
        await store.release({ ...(await rowOf(asking)), kind: "parked", inboxSeen: 0 });
        await post(untold, say("hello"));
        await append(paused, await hold(paused), [waits], { columns: { ...WAITING, outcome: "paused" } });
        await store.release({ ...(await rowOf(paused)), kind: "parked", inboxSeen: 0 });
        const rows = [timerRow("t", clock.wall() + 60_000)];
        await append(timed, await hold(timed), [waits], { columns: WAITING, rows });
        await store.release({ ...(await rowOf(timed)), kind: "parked", inboxSeen: 0 });
        await end(ended, await hold(ended));
        await restore(context);
        const claimable = async (log: Log) => (await store.claim(claiming({ taskId: log.taskId }))) !== null;
        for (const log of [midTurn, asking, untold]) expect(await claimable(log)).toBe(true);
        for (const log of [resting, paused, timed, ended]) expect(await claimable(log)).toBe(false);
        clock.pass(60_000);
        expect(await claimable(timed)).toBe(true);
        await post(resting, say("hello"));
        expect(await claimable(resting)).toBe(true);
      });

      it("leave logs, snapshots and heads as they were", async (context) => {
        const log = await create();
        const claim = await hold(log);
        await append(log, claim, [told("a")], { columns: RUNNING });
        const snapshot: Snapshot = { seq: 2, version: "v1", revision: claim.revision, bytes: new Uint8Array([1, 2]) };
        await store.putSnapshot({ taskId: log.taskId, snapshot });
        const { head } = await rowOf(log);
        await restore(context);
        expect((await rowOf(log)).head).toBe(head);
        expect(await findings(log)).toEqual([]);
        expect((await hold(log, { snapshotVersions: { scribe: "v1" } })).snapshot).toEqual(snapshot);
        expect(await store.check()).toEqual([]);
      });
    });

    describe("what was erased after a backup", () => {
      const backUp = async (context: TestContext): Promise<() => Promise<Store>> => {
        if (opened.backup === undefined) return context.skip("this store's harness cannot restore a backup");
        return opened.backup();
      };

      it("is erased in what is restored: events, and items that a log had not taken yet", async (context) => {
        const log = await create({ items: [{ by: "local:root", key: "k1", item: say("first words") }] });
        const claim = await hold(log);
        await append(log, claim, [told("told words")], { columns: RUNNING });
        await post(log, say("second words"), "k2");
        const again = await backUp(context);
        const items = [{ seq: 1, at: 1, by: "local:root", key: "k1", type: "Say", text: "first words" }] as const;
        await append(log, claim, [{ type: "InputTaken", items: [...items], through: 1 }], { taken: 1 });
        await store.redact({ taskId: log.taskId, seqs: [2, 3], items: [2], secret: newSecret() });
        store = await again();
        const restored = [...bodies(await readAll(log)), ...bodies((await hold(log)).inbox)];
        expect(restored.filter((body) => body.includes(" words"))).toEqual([]);
        expect(await findings(log)).toEqual([]);
      });

      it("leaves what nobody erased, and another event at the seq of one that was", async (context) => {
        const log = await create();
        const claim = await hold(log);
        await append(log, claim, [told("kept words")], { columns: RUNNING });
        const again = await backUp(context);
        await append(log, claim, [told("erased words")]);
        await store.redact({ taskId: log.taskId, seqs: [3], secret: newSecret() });
        store = await again();
        Object.assign(log, (await readAll(log)).at(-1));
        await append(log, await hold(log), [told("other words")]);
        store = await (await backUp(context))();
        const restored = bodies(await readAll(log)).join();
        expect(restored).toContain("kept words");
        expect(restored).toContain("other words");
        expect(restored).not.toContain("erased words");
      });

      it("stays pruned, and its id used", async (context) => {
        const log = await create();
        await end(log, await hold(log));
        const again = await backUp(context);
        clock.pass(10);
        expect(await store.prune({ endedBefore: await store.now(), limit: 10 })).toContain(log.taskId);
        store = await again();
        expect(await store.getTask({ taskId: log.taskId })).toBeNull();
        await refused(create({ taskId: log.taskId }), "conflict");
      });
    });

    describe("pruning", () => {
      const ended = async (over: Making = {}): Promise<Log> => {
        const log = await create(over);
        await end(log, await hold(log));
        return log;
      };
      /** Of what this test made: a store may be shared. */
      const prune = async (endedBefore: number, more: Partial<PruneParams> = {}): Promise<readonly string[]> =>
        store.prune({ endedBefore, limit: 10_000, ...more });

      it("removes tasks that ended before a time, and no other", async () => {
        const old = await ended();
        const open = await parked();
        clock.pass(1_000);
        const cutoff = await store.now();
        const young = await ended();
        const gone = await prune(cutoff);
        expect(gone).toContain(old.taskId);
        expect(gone).not.toContain(open.taskId);
        expect(gone).not.toContain(young.taskId);
        expect(await store.getTask({ taskId: old.taskId })).toBeNull();
        await rowOf(open);
        await rowOf(young);
        expect(await prune(cutoff)).not.toContain(old.taskId);
        expect(await store.check()).toEqual([]);
      });

      it("removes nothing when it is only to say what it would", async () => {
        const log = await ended();
        clock.pass(10);
        expect(await prune(await store.now(), { dryRun: true })).toContain(log.taskId);
        expect(await readAll(log)).toHaveLength(2);
      });

      it("answers `not_found`, never `forgotten`, for all that a pruned task was asked before", async () => {
        const log = await create();
        const claim = await hold(log);
        await end(log, claim);
        const { taskId } = log;
        const { fence } = claim;
        await store.putFile({ taskId, name: "f", mediaType: "t", bytes: new Uint8Array(3) });
        clock.pass(10);
        await prune(await store.now());
        await refused(store.read({ taskId }), "not_found");
        await refused(post(log, say("late")), "not_found");
        await refused(store.renew({ taskId, fence, leaseMs: LEASE_MS }), "not_found");
        await refused(store.getSecret({ taskId }), "not_found");
        await refused(store.exportTask({ taskId }), "not_found");
        await refused(store.redact({ taskId, seqs: [1], secret: newSecret() }), "not_found");
        expect(await store.readRows({ taskId }).catch(() => [])).toEqual([]);
        expect(await store.getFile({ taskId, name: "f" })).toBeNull();
        expect(await store.listFiles({ taskId })).toEqual([]);
        expect(await store.getSnapshot({ taskId, version: "v1" })).toBeNull();
        expect(await store.claim(claiming({ taskId }))).toBeNull();
        expect((await store.listTasks({ limit: 1_000, idPrefix: taskId })).map((row) => row.taskId)).toEqual([]);
      });

      it("lets no id come back, and frees the creation key", async () => {
        const log = await ended({ key: "k" + randomUUID() });
        const { params } = making({ taskId: log.taskId });
        const bundle = await store.exportTask({ taskId: log.taskId });
        clock.pass(10);
        await prune(await store.now());
        await refused(store.createTask(params), "conflict");
        const importing = { taskId: log.taskId, bundle, secret: newSecret(), columns: log.columns, rows: [] };
        await refused(store.importTask(importing), "conflict");
        await store.importTask({ ...importing, taskId: fresh("import") });
      });

      it("drops what another task's append carries for a pruned one", async () => {
        const log = await ended();
        clock.pass(10);
        await prune(await store.now());
        const other = await create();
        const posts = [{ taskId: log.taskId, by: "local:root", key: "k", item: say("hello") }];
        await append(other, await hold(other), [told("a")], { posts });
      });

      it("keeps what a kept task has as parent or folds, at any distance", async () => {
        const [root, source, alone] = [await ended(), await ended(), await ended()];
        const child = await ended({ columns: { parent: root.taskId, root: root.taskId } });
        const fork = await ended({ columns: { historyFrom: source.taskId } });
        const grandchild = await create({ columns: { parent: child.taskId, root: root.taskId } });
        const forkOfFork = await create({ columns: { historyFrom: fork.taskId } });
        clock.pass(10);
        const gone = await prune(await store.now());
        expect(gone).toContain(alone.taskId);
        for (const log of [root, source, child, fork]) expect(gone).not.toContain(log.taskId);
        await end(grandchild, await hold(grandchild));
        await end(forkOfFork, await hold(forkOfFork));
        clock.pass(10);
        const then = await prune(await store.now());
        const made = [root, source, child, fork, grandchild, forkOfFork].map(({ taskId }) => taskId);
        expect(then.filter((taskId) => made.includes(taskId))).toEqual(made.toReversed());
      });

      it("prunes no more than the limit, newest first", async () => {
        const logs = [await ended(), await ended(), await ended()];
        clock.pass(10);
        const endedBefore = await store.now();
        expect(await prune(endedBefore, { limit: 2 })).toEqual([logs[2]?.taskId, logs[1]?.taskId]);
        await rowOf(logs[0] ?? { taskId: "" });
      });

      it("leaves no content of a pruned task: log, inbox, snapshot, file or secret", async (context) => {
        if (opened.bytes === undefined) return context.skip("this store's harness cannot show its bytes");
        const log = await create({ objective: "prune-objective" });
        const { taskId, secret } = log;
        const claim = await hold(log);
        await append(log, claim, [told("prune-event")], { columns: RUNNING });
        await append(log, claim, [told("prune-redacted")]);
        await store.redact({ taskId, seqs: [3], secret });
        await post(log, say("prune-item"));
        const bytes = new Uint8Array(Buffer.from("prune-file ".repeat(50_000)));
        await store.putFile({ taskId, name: "prune-name", mediaType: "t", bytes });
        const { revision } = await rowOf(log);
        await append(log, { ...claim, revision }, [ends], { columns: ENDED });
        clock.pass(10);
        await prune(await store.now());
        const left = await opened.bytes();
        for (const word of ["objective", "event", "redacted", "item", "file"]) {
          expect(left.includes(`prune-${word}`), word).toBe(false);
        }
        expect(left.includes(Buffer.from(secret))).toBe(false);
      });

      it("counts pruned tasks and their events no more", async () => {
        await parked();
        const before = await store.stats();
        await ended();
        clock.pass(10);
        await prune(await store.now());
        expect({ ...(await store.stats()), storeBytes: null }).toEqual({ ...before, storeBytes: null });
      });
    });

    describe("held tasks", () => {
      const holdBack = async (log: Log, build: string, retryAfterMs = 1_000, reason = "cannot fold"): Promise<void> => {
        const { fence } = await hold(log, { build });
        await store.release({ taskId: log.taskId, fence, kind: "held", reason, build, retryAfterMs });
      };
      const nextFor = async (log: Log, build: string) =>
        (await store.claim(claiming({ build, queues: [log.columns.queue] })))?.taskId ?? null;

      it("shows who held a task, when and why", async () => {
        const log = await create();
        await holdBack(log, "build 1");
        const held = { reason: "cannot fold", build: "build 1", at: clock.wall(), count: 1 };
        expect(await rowOf(log)).toMatchObject({ held, claimedBy: null });
      });

      it("comes back to the same build after the back-off", async () => {
        const log = await create({ columns: { queue: fresh("queue") } });
        await holdBack(log, "build 1");
        clock.pass(999);
        expect(await nextFor(log, "build 1")).toBeNull();
        clock.pass(1);
        expect(await nextFor(log, "build 1")).toBe(log.taskId);
      });

      it("comes to another build at once", async () => {
        const log = await create({ columns: { queue: fresh("queue") } });
        await holdBack(log, "build 1");
        expect(await nextFor(log, "build 2")).toBe(log.taskId);
      });

      it("backs off for every build that held it", async () => {
        const log = await create({ columns: { queue: fresh("queue") } });
        await holdBack(log, "build 1");
        await holdBack(log, "build 2");
        expect([await nextFor(log, "build 1"), await nextFor(log, "build 2")]).toEqual([null, null]);
        clock.pass(1_000);
        expect(await nextFor(log, "build 1")).toBe(log.taskId);
      });

      it("stays held for a claim of that very task", async () => {
        const log = await create();
        await holdBack(log, "build 1");
        expect(await store.claim(claiming({ taskId: log.taskId }))).toBeNull();
        expect(await store.claim(claiming({ taskId: log.taskId, build: "build 2" }))).not.toBeNull();
      });

      it("counts the holds of a build in a row", async () => {
        const log = await create();
        await holdBack(log, "build 1");
        clock.pass(1_000);
        await holdBack(log, "build 1", 5_000);
        expect(await rowOf(log)).toMatchObject({ held: { count: 2, at: clock.wall() } });
        await holdBack(log, "build 2");
        expect(await rowOf(log)).toMatchObject({ held: { count: 1, build: "build 2" } });
        clock.pass(5_000);
        await holdBack(log, "build 1");
        expect(await rowOf(log)).toMatchObject({ held: { count: 3, build: "build 1" } });
      });

      it("tells a claim how often its own build held the task", async () => {
        const log = await create();
        expect(await hold(log)).toMatchObject({ holds: 0 });
        clock.pass(LEASE_MS);
        for (let index = 0; index < 2; index += 1) {
          await holdBack(log, "build 1");
          clock.pass(1_000);
        }
        expect(await hold(log, { build: "build 2" })).toMatchObject({ holds: 0 });
        clock.pass(LEASE_MS);
        const claim = await hold(log, { build: "build 1" });
        expect(claim).toMatchObject({ holds: 2 });
        await store.release({ taskId: log.taskId, fence: claim.fence, kind: "stop" });
        expect(await hold(log, { build: "build 1" })).toMatchObject({ holds: 0 });
      });

      it("is no longer held once a holder stops or parks it", async () => {
        const log = await create();
        await holdBack(log, "build 1");
        const { fence } = await hold(log, { build: "build 2" });
        await store.release({ taskId: log.taskId, fence, kind: "stop" });
        expect(await rowOf(log)).toMatchObject({ held: null });
        await holdBack(log, "build 1");
        expect(await rowOf(log)).toMatchObject({ held: { count: 1 } });
      });

      it("is none that its holder leaves to its lease: that claim counts as no attempt", async () => {
        const log = await create();
        const { taskId } = log;
        const first = await hold(log);
        clock.pass(LEASE_MS);
        const second = await hold(log);
        expect([first.attempts, second.attempts]).toEqual([1, 2]);
        const left = { taskId, fence: second.fence, attempts: 2, build: "build 1", backOffMs: 3 * LEASE_MS };
        await store.letLapse(left);
        await store.letLapse(left);
        expect(await rowOf(log)).toMatchObject({ held: null, claimedBy: "w1", fence: second.fence });
        expect(await store.claim(claiming({ taskId, build: "build 2" }))).toBeNull();
        clock.pass(LEASE_MS);
        expect(await store.claim(claiming({ taskId }))).toBeNull();
        const other = await hold(log, { build: "build 2" });
        expect(other).toMatchObject({ attempts: 2, holds: 0 });
        await refused(store.letLapse(left), "not_owner");
        clock.pass(2 * LEASE_MS);
        const third = await hold(log);
        expect(third).toMatchObject({ attempts: 3, holds: 0 });
        await append(log, third, [told("a")], { columns: RUNNING });
      });

      it("is left alone by one build for no longer than until a holder gave it back", async () => {
        const log = await create();
        const { taskId } = log;
        const { fence } = await hold(log);
        await store.letLapse({ taskId, fence, attempts: 1, build: "build 1", backOffMs: 60 * LEASE_MS });
        clock.pass(LEASE_MS);
        const other = await hold(log, { build: "build 2" });
        await store.release({ taskId, fence: other.fence, kind: "stop" });
        expect((await hold(log)).attempts).toBe(1);
      });

      it("is let go for every build", async () => {
        const log = await create({ columns: { queue: fresh("queue") } });
        await holdBack(log, "build 1");
        await holdBack(log, "build 2");
        await store.letGo({ taskId: log.taskId });
        expect(await rowOf(log)).toMatchObject({ held: null });
        expect(await nextFor(log, "build 2")).toBe(log.taskId);
      });

      it("lets go of a task that is not held, and of none that is not there", async () => {
        const log = await create();
        await store.letGo({ taskId: log.taskId });
        await refused(store.letGo({ taskId: fresh("task") }), "not_found");
      });

      it("backs off by a clock that never goes back", async () => {
        const log = await create({ columns: { queue: fresh("queue") } });
        await holdBack(log, "build 1");
        clock.setWall(clock.wall() - 60_000);
        expect(await nextFor(log, "build 1")).toBeNull();
        clock.setWall(clock.wall() + 61_000);
        expect(await nextFor(log, "build 1")).toBe(log.taskId);
      });

      it("resets the count of attempts", async () => {
        const log = await create();
        await hold(log);
        clock.pass(LEASE_MS);
        await holdBack(log, "build 1");
        expect(await hold(log, { build: "build 2" })).toMatchObject({ attempts: 1 });
      });
    });

    describe("snapshots", () => {
      const BYTES = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
      const put = async (log: Log, over: Partial<Snapshot> = {}): Promise<boolean> => {
        const { revision } = await rowOf(log);
        const snapshot = { seq: log.seq, version: "v1", revision, bytes: BYTES, ...over };
        return store.putSnapshot({ taskId: log.taskId, snapshot });
      };
      const seqOf = async (log: Log, version: string) =>
        (await store.getSnapshot({ taskId: log.taskId, version }))?.seq ?? null;

      it("gives a snapshot back by version, byte for byte", async () => {
        const log = await create();
        expect(await put(log)).toBe(true);
        const { revision } = await rowOf(log);
        const snapshot = { seq: 1, version: "v1", revision, bytes: BYTES };
        expect(await store.getSnapshot({ taskId: log.taskId, version: "v1" })).toEqual(snapshot);
        expect(await seqOf(log, "v2")).toBeNull();
        expect(await store.getSnapshot({ taskId: fresh("task"), version: "v1" })).toBeNull();
      });

      it("gives a claim the snapshot of its version, and only the log after it", async () => {
        const log = await create();
        const claim = await hold(log);
        await append(log, claim, [told("a"), told("b")]);
        await put(log, { seq: 2 });
        await store.release({ taskId: log.taskId, fence: claim.fence, kind: "stop" });
        const held = await hold(log, { snapshotVersions: { scribe: "v1", other: "v2" } });
        expect(held.snapshot).toMatchObject({ seq: 2, version: "v1", bytes: BYTES });
        expect(seqs(held.entries)).toEqual([3]);
        expect(held).toMatchObject({ lastSeq: 3, chain: log.chain });
        await store.release({ taskId: log.taskId, fence: held.fence, kind: "stop" });
        const foreign = await hold(log, { snapshotVersions: { scribe: "v2", other: "v1" } });
        expect(foreign.snapshot).toBeNull();
        expect(seqs(foreign.entries)).toEqual([1, 2, 3]);
      });

      it("keeps the newest of a version", async () => {
        const log = await create();
        await append(log, await hold(log), [told("a"), told("b")]);
        expect(await put(log, { seq: 2 })).toBe(true);
        expect(await put(log, { seq: 1 })).toBe(false);
        expect(await seqOf(log, "v1")).toBe(2);
        expect(await put(log, { seq: 3 })).toBe(true);
        expect(await seqOf(log, "v1")).toBe(3);
      });

      it("keeps two versions at most, dropping the one not written for longest", async () => {
        const log = await create();
        await append(log, await hold(log), [told("a"), told("b"), told("c")]);
        for (const [index, version] of ["v1", "v2", "v1", "v3"].entries()) await put(log, { seq: index + 1, version });
        expect([await seqOf(log, "v1"), await seqOf(log, "v2"), await seqOf(log, "v3")]).toEqual([3, null, 4]);
      });

      it("keeps nothing when the revision moved on, the task has ended or is not there", async () => {
        const [log, over] = [await create(), await create()];
        const { revision } = await rowOf(log);
        await append(log, await hold(log), [told("secret")]);
        await store.redact({ taskId: log.taskId, seqs: [2], secret: newSecret() });
        expect(await put(log, { revision })).toBe(false);
        expect(await seqOf(log, "v1")).toBeNull();
        await end(over, await hold(over));
        expect(await put(over)).toBe(false);
        const snapshot = { seq: 1, version: "v1", revision, bytes: BYTES };
        expect(await store.putSnapshot({ taskId: fresh("task"), snapshot })).toBe(false);
      });

      it("deletes the snapshots of a task with the append that ends it", async () => {
        const log = await create();
        await put(log);
        await end(log, await hold(log));
        expect(await seqOf(log, "v1")).toBeNull();
      });

      it("keeps a snapshot of several megabytes, and changes nothing when the caller does", async () => {
        const log = await create();
        const bytes = new Uint8Array(randomBytes(3 * MIB));
        const copy = Uint8Array.from(bytes);
        await put(log, { bytes });
        bytes.fill(0);
        const read = async () => (await store.getSnapshot({ taskId: log.taskId, version: "v1" }))?.bytes;
        expect(Buffer.compare((await read()) ?? bytes, copy)).toBe(0);
        (await read())?.fill(0);
        expect(Buffer.compare((await read()) ?? bytes, copy)).toBe(0);
      });
    });

    describe("redaction", () => {
      /** A task with a secret said at seq 2 and 3, and its claim. */
      const withSecrets = async (over: Making = {}) => {
        const log = await create(over);
        const claim = await hold(log);
        const compacted: Event = { type: "Compacted", through: 2, summary: "the secret", kept: [] };
        await append(log, claim, [told("the secret"), compacted, told("other")]);
        return { log, claim };
      };
      const redact = (log: { taskId: string }, seqsOf: readonly number[], items: readonly number[] = []) =>
        store.redact({ taskId: log.taskId, seqs: seqsOf, items, secret: newSecret() });

      it("leaves the skeleton of an event, without its salt, under its digest and chain", async () => {
        const { log } = await withSecrets();
        const before = await readAll(log);
        await redact(log, [2, 3]);
        const skeleton = ({ type, body }: Envelope): string => {
          const { type: _, ...fields } = skeletonOf(decodeEvent(type, body));
          return JSON.stringify(fields);
        };
        const gone = (entry: Envelope): Envelope => ({ ...entry, body: skeleton(entry), salt: null });
        const expected = before.map((entry) => (entry.seq === 2 || entry.seq === 3 ? gone(entry) : entry));
        expect(await readAll(log)).toEqual(expected);
        expect(JSON.stringify(bodies(await readAll(log)))).not.toContain("the secret");
        expect(await findings(log)).toEqual([]);
      });

      it("gives a claim the skeleton", async () => {
        const { log } = await withSecrets();
        await redact(log, [2, 3]);
        clock.pass(LEASE_MS);
        const claim = await hold(log);
        expect(bodies(claim.entries)).toEqual(bodies(await readAll(log)));
      });

      it("records each redaction once in a chained list, over many redactions", async () => {
        const { log } = await withSecrets();
        await redact(log, [3]);
        await redact(log, [4, 2, 4, 3]);
        const list = await store.readRedactions({ taskId: log.taskId });
        expect(list.map(({ n }) => n)).toEqual([1, 2, 3]);
        expect(seqs(list).sort()).toEqual([2, 3, 4]);
        expect(list[0]?.seq).toBe(3);
        expect(await rowOf(log)).toMatchObject({ redactions: 3, lastSeq: 4, head: toHex(log.chain) });
        expect(await findings(log)).toEqual([]);
      });

      it("raises the revision, replaces the secret and deletes the snapshots", async () => {
        const { log } = await withSecrets();
        const { revision } = await rowOf(log);
        const snapshot = { seq: 2, version: "v1", revision, bytes: Uint8Array.of(1) };
        await store.putSnapshot({ taskId: log.taskId, snapshot });
        const secret = newSecret();
        const after = await store.redact({ taskId: log.taskId, seqs: [2], secret });
        expect(after.revision).toBeGreaterThan(revision);
        expect(await rowOf(log)).toMatchObject({ revision: after.revision });
        expect(await store.getSecret({ taskId: log.taskId })).toEqual(secret);
        expect(await store.getSnapshot({ taskId: log.taskId, version: "v1" })).toBeNull();
        clock.pass(LEASE_MS);
        expect(await hold(log)).toMatchObject({ secret, revision: after.revision });
      });

      it("makes the holder fold again before it appends", async () => {
        const { log, claim } = await withSecrets();
        const { revision } = await redact(log, [2]);
        await refused(store.append(appending(log, claim, [told("b")])), "redacted");
        expect(await append(log, claim, [told("b")], { revision })).toMatchObject({ lastSeq: 5 });
      });

      it("changes nothing when there is nothing left to redact", async () => {
        const { log } = await withSecrets();
        await redact(log, [2, 3]);
        const [row, secret] = [await rowOf(log), await store.getSecret({ taskId: log.taskId })];
        expect(await redact(log, [3, 2])).toEqual({ revision: row.revision });
        expect(await rowOf(log)).toEqual(row);
        expect(await store.getSecret({ taskId: log.taskId })).toEqual(secret);
      });

      it("raises the revision of every task that folds this log, and drops their snapshots", async () => {
        const { log } = await withSecrets();
        const fork = await create({ columns: { historyFrom: log.taskId } });
        const forkOfFork = await create({ columns: { historyFrom: fork.taskId } });
        const apart = await create();
        const all = [fork, forkOfFork, apart];
        const before = await Promise.all(all.map(rowOf));
        for (const [index, one] of all.entries()) {
          const revision = before[index]?.revision ?? 0;
          const snapshot = { seq: 1, version: "v1", revision, bytes: Uint8Array.of(1) };
          expect(await store.putSnapshot({ taskId: one.taskId, snapshot })).toBe(true);
        }
        await redact(log, [2]);
        const after = await Promise.all(all.map(rowOf));
        const raised = after.map((row, index) => row.revision > (before[index]?.revision ?? 0));
        expect(raised).toEqual([true, true, false]);
        const left = all.map(({ taskId }) => store.getSnapshot({ taskId, version: "v1" }));
        expect((await Promise.all(left)).map((snapshot) => snapshot === null)).toEqual([true, true, false]);
        expect(await store.getSecret({ taskId: fork.taskId })).toEqual(fork.secret);
      });

      it("leaves the source alone when a fork is redacted", async () => {
        const { log } = await withSecrets();
        const { log: fork } = await withSecrets({ columns: { historyFrom: log.taskId } });
        const { revision } = await rowOf(log);
        await redact(fork, [2]);
        expect(await rowOf(log)).toMatchObject({ revision, redactions: 0 });
      });

      it("redacts a task that is ended, and one that is held or claimed", async () => {
        const { log, claim } = await withSecrets();
        await redact(log, [2]);
        await append(log, claim, [ends], { columns: ENDED, revision: (await rowOf(log)).revision });
        await redact(log, [3]);
        expect(await findings(log)).toEqual([]);
        expect(await rowOf(log)).toMatchObject({ redactions: 2, status: "ended" });
      });

      it("redacts untaken items, and passes over those that were taken", async () => {
        const log = await create();
        for (const text of ["a", "the secret", "c"]) await post(log, say(text));
        const claim = await hold(log);
        await append(log, claim, [told("taken")], { taken: 1 });
        const { revision } = await rowOf(log);
        expect((await redact(log, [], [1, 2])).revision).toBeGreaterThan(revision);
        const left = [{ ...say(""), redacted: true }, say("c")];
        expect(bodies(await untaken(log, claim))).toEqual(left.map((item) => JSON.stringify(item)));
        const row = await rowOf(log);
        expect(row).toMatchObject({ inboxSeq: 3, inboxTaken: 1, redactions: 0 });
        expect(await redact(log, [], [1, 2])).toEqual({ revision: row.revision });
      });

      it("refuses a task, or a seq, that is not there, and a forgotten task", async (context) => {
        const { log } = await withSecrets();
        const before = await readAll(log);
        await refused(redact({ taskId: fresh("task") }, [1]), "not_found");
        await refused(redact(log, [2, 9]), "not_found");
        expect(await readAll(log)).toEqual(before);
        await forget(context, log.taskId);
        await refused(redact(log, [2]), "forgotten");
      });

      it("leaves an event to the newer version that wrote it, and changes nothing", async () => {
        const { log, claim } = await withSecrets();
        const [draft] = draftsAfter(log, [waits]) as [Draft];
        const newer = { ...draft, body: '{"on":"input","detail":{},"mood":"the secret"}' };
        await store.append({ ...appending(log, claim, []), drafts: [newer] });
        const before = await rowOf(log);
        await refused(redact(log, [2, 5]), "newer_version");
        expect(await rowOf(log)).toEqual(before);
        expect((await readAll(log)).every((entry) => entry.salt !== null)).toBe(true);
      });
    });

    describe("what is left of content", () => {
      const holds = async (context: TestContext, words: string): Promise<boolean> => {
        if (opened.bytes === undefined) return context.skip("this store's harness cannot search its place");
        return (await opened.bytes()).includes(words);
      };

      it("is nothing of an item that was taken", async (context) => {
        const words = fresh("item");
        const log = await create();
        await post(log, say(words));
        const claim = await hold(log);
        expect(await holds(context, words)).toBe(true);
        await append(log, claim, [told("taken")], { taken: 1 });
        expect(await holds(context, words)).toBe(false);
      });

      it("is nothing of a redacted event or item", async (context) => {
        const words = fresh("secret");
        const log = await create({ items: [{ by: "local:root", key: "k", item: say(words) }] });
        await append(log, await hold(log), [told(words), told("other")]);
        expect(await holds(context, words)).toBe(true);
        await store.redact({ taskId: log.taskId, seqs: [2], items: [1], secret: newSecret() });
        expect(await holds(context, words)).toBe(false);
      });

      it("is nothing of a snapshot that was replaced, redacted or ended", async (context) => {
        const words = fresh("snapshot");
        const put = async (log: Log): Promise<void> => {
          const { revision } = await rowOf(log);
          const snapshot = { seq: 1, version: "v1", revision, bytes: Uint8Array.from(Buffer.from(words)) };
          await store.putSnapshot({ taskId: log.taskId, snapshot });
        };
        const [log, over, replaced] = [await create(), await create(), await create()];
        const fork = await create({ columns: { historyFrom: log.taskId } });
        for (const one of [log, fork, over, replaced]) await put(one);
        expect(await holds(context, words)).toBe(true);
        await append(log, await hold(log), [told("a")]);
        await store.redact({ taskId: log.taskId, seqs: [2], secret: newSecret() });
        await end(over, await hold(over));
        const { revision } = await rowOf(replaced);
        const other = { seq: 1, version: "v1", revision, bytes: Uint8Array.of(1) };
        await store.putSnapshot({ taskId: replaced.taskId, snapshot: other });
        expect(await holds(context, words)).toBe(false);
      });

      it("is nothing of a file that was replaced, nor of a secret", async (context) => {
        const words = fresh("file");
        const log = await create();
        const put = (bytes: Buffer) =>
          store.putFile({ taskId: log.taskId, name: "f", mediaType: "t", bytes: Uint8Array.from(bytes) });
        await put(Buffer.from(words.repeat(10_000)));
        const secret = Buffer.from(fresh("secret").slice(0, 32));
        await append(log, await hold(log), [told("a"), told("b")]);
        await store.redact({ taskId: log.taskId, seqs: [2], secret: Uint8Array.from(secret) });
        expect([await holds(context, words), await holds(context, secret.toString())]).toEqual([true, true]);
        await put(Buffer.from("other"));
        await store.redact({ taskId: log.taskId, seqs: [3], secret: newSecret() });
        expect([await holds(context, words), await holds(context, secret.toString())]).toEqual([false, false]);
      });
    });

    describe("files", () => {
      const put = (log: { taskId: string }, name: string, bytes: Uint8Array, mediaType = "text/plain") =>
        store.putFile({ taskId: log.taskId, name, mediaType, bytes });
      const get = (log: { taskId: string }, name: string) => store.getFile({ taskId: log.taskId, name });

      it("gives a file back, and none of another name or task", async () => {
        const [log, other] = [await create(), await create()];
        await put(log, "a.bin", Uint8Array.of(0, 255, 7), "image/png");
        expect(await get(log, "a.bin")).toEqual({ mediaType: "image/png", bytes: Uint8Array.of(0, 255, 7) });
        expect([await get(log, "A.bin"), await get(other, "a.bin")]).toEqual([null, null]);
        expect(await get({ taskId: fresh("task") }, "a.bin")).toBeNull();
      });

      it("replaces a file whole, a longer one by a shorter one too", async () => {
        const log = await create();
        await put(log, "a", new Uint8Array(3 * MIB).fill(1));
        await put(log, "a", Uint8Array.of(2), "text/html");
        expect(await get(log, "a")).toEqual({ mediaType: "text/html", bytes: Uint8Array.of(2) });
        const listed = await store.listFiles({ taskId: log.taskId });
        expect(listed).toEqual([{ name: "a", mediaType: "text/html", size: 1 }]);
      });

      it("keeps big files and empty ones", async () => {
        const log = await create();
        const big = new Uint8Array(randomBytes(9 * MIB + 1));
        await put(log, "big", big);
        await put(log, "empty", new Uint8Array(0));
        expect(Buffer.compare((await get(log, "big"))?.bytes ?? Uint8Array.of(), big)).toBe(0);
        expect(await get(log, "empty")).toEqual({ mediaType: "text/plain", bytes: new Uint8Array(0) });
      });

      it("lists files by name with type and size, whatever their names", async () => {
        const log = await create();
        for (const name of ["b", "../a", "__proto__", "é/\u{1f600}"]) await put(log, name, Uint8Array.of(1, 2));
        const listed = await store.listFiles({ taskId: log.taskId });
        expect(listed.map((file) => file.name)).toEqual(["../a", "__proto__", "b", "é/\u{1f600}"]);
        expect(listed[0]).toEqual({ name: "../a", mediaType: "text/plain", size: 2 });
        expect(await store.listFiles({ taskId: fresh("task") })).toEqual([]);
      });

      it("refuses a file for a task that is not there or was forgotten", async (context) => {
        await refused(put({ taskId: fresh("task") }, "a", Uint8Array.of(1)), "not_found");
        const log = await create();
        await forget(context, log.taskId);
        await refused(put(log, "a", Uint8Array.of(1)), "forgotten");
      });

      it("changes nothing when the caller changes bytes that it gave or was given", async () => {
        const log = await create();
        const bytes = Uint8Array.of(1, 2, 3);
        await put(log, "a", bytes);
        bytes.fill(0);
        (await get(log, "a"))?.bytes.fill(9);
        expect((await get(log, "a"))?.bytes).toEqual(Uint8Array.of(1, 2, 3));
      });
    });

    describe("bundles", () => {
      const text = JSON.stringify({ name: "tool" });
      const definition = { hash: definitionHash(text), text };

      /** A task with events, one of them redacted, a definition, rows, an inbox and a file. */
      const lived = async () => {
        const log = await create({ rows: [timerRow("t", clock.wall() + 60_000)] });
        const claim = await hold(log);
        await post(log, say("a"));
        await post(log, say("b"));
        await append(log, claim, [told("the secret"), told("b")], { taken: 1, definitions: [definition] });
        clock.pass(10);
        await append(log, claim, [told("c")]);
        const { revision } = await store.redact({ taskId: log.taskId, seqs: [2], secret: newSecret() });
        await store.putFile({ taskId: log.taskId, name: "f", mediaType: "text/plain", bytes: Uint8Array.of(1) });
        return { log, claim: { ...claim, revision }, bundle: await store.exportTask({ taskId: log.taskId }) };
      };

      const taking = (bundle: Bundle, over: Partial<TaskColumns> = {}) => {
        const taskId = fresh("task");
        const columns = columnsFor(taskId, { ...RUNNING, ...over });
        return { taskId, bundle, secret: newSecret(), columns, rows: [timerRow("t", clock.wall() + 60_000)] };
      };
      const take = async (bundle: Bundle, over: Partial<TaskColumns> = {}): Promise<Log> => {
        const params = taking(bundle, over);
        await store.importTask(params);
        const last = bundle.entries.at(-1) as Envelope;
        return {
          taskId: params.taskId,
          secret: params.secret,
          columns: params.columns,
          seq: last.seq,
          chain: last.chain,
        };
      };

      it("exports a task whole", async () => {
        const { log, bundle } = await lived();
        expect(bundle).toEqual({
          format: "perdure-task/1",
          row: await rowOf(log),
          entries: await readAll(log),
          redactions: await store.readRedactions({ taskId: log.taskId }),
          definitions: [definition],
          files: [{ name: "f", mediaType: "text/plain", bytes: Uint8Array.of(1) }],
        });
      });

      it("exports no task that is not there or was forgotten", async (context) => {
        await refused(store.exportTask({ taskId: fresh("task") }), "not_found");
        const log = await create();
        await forget(context, log.taskId);
        await refused(store.exportTask({ taskId: log.taskId }), "forgotten");
      });

      it("imports a task as it was exported, under a new id", async () => {
        const { bundle } = await lived();
        const log = await take(bundle);
        const again = await store.exportTask({ taskId: log.taskId });
        const { entries, redactions, definitions, files } = bundle;
        expect(again).toMatchObject({ entries, redactions, definitions, files });
        expect(await findings(log)).toEqual([]);
        expect(await store.readRows({ taskId: log.taskId })).toEqual([timerRow("t", clock.wall() + 60_000)]);
      });

      it("keeps the definitions that a bundle brings", async () => {
        const { bundle } = await lived();
        const brought = JSON.stringify({ name: fresh("tool") });
        const definitions = [...bundle.definitions, { hash: definitionHash(brought), text: brought }];
        const log = await take({ ...bundle, definitions });
        const hashes = [definitionHash(brought)];
        expect(await store.getDefinitions({ hashes })).toEqual([definitions[1]]);
        expect((await store.exportTask({ taskId: log.taskId })).definitions).toHaveLength(2);
      });

      it("gives an import a row of its own: columns, revision, secret, no inbox, no claim", async () => {
        const { bundle } = await lived();
        const log = await take(bundle, { owner: "local:other", priority: 4 });
        const row = await rowOf(log);
        expect(row).toMatchObject({
          owner: "local:other",
          priority: 4,
          status: "running",
          claimedBy: null,
          held: null,
        });
        expect(row).toMatchObject({ lastSeq: 4, head: toHex(log.chain), redactions: 1 });
        expect(row.revision).toBeGreaterThan(bundle.row.revision);
        const claim = await hold(log);
        expect(claim).toMatchObject({ secret: log.secret, inbox: [], previousEndedAt: null, attempts: 1 });
        expect(bodies(claim.entries)).toEqual(bodies(bundle.entries));
      });

      it("numbers the items of an import after those that its log has taken", async () => {
        const { bundle } = await lived();
        const log = await take(bundle);
        const claim = await hold(log);
        await append(log, claim, [waits], { inboxSeen: bundle.row.inboxTaken });
        const receipt = await post(log, say("a"));
        expect(receipt.seq).toBeGreaterThan(bundle.row.inboxTaken);
        expect(texts(await untaken(log, claim))).toEqual(["a"]);
      });

      it("goes on with an imported log, in a chain that still holds", async () => {
        const log = await take((await lived()).bundle);
        await append(log, await hold(log), [told("more")]);
        expect(await findings(log)).toEqual([]);
      });

      it("never lets the time go back in a log that came from a clock ahead", async () => {
        const { bundle } = await lived();
        const ahead = clock.wall() + 1_000_000;
        const log = await take({ ...bundle, entries: bundle.entries.map((entry) => ({ ...entry, at: ahead })) });
        expect((await append(log, await hold(log), [told("more")])).at).toBe(ahead);
        expect(await store.now()).toBe(clock.wall());
      });

      it("imports a task that folds another, which a redaction of that one reaches", async () => {
        const { log: source, bundle } = await lived();
        const log = await take(bundle, { historyFrom: source.taskId });
        const { revision } = await rowOf(log);
        await store.redact({ taskId: source.taskId, seqs: [3], secret: newSecret() });
        expect((await rowOf(log)).revision).toBeGreaterThan(revision);
      });

      it("tells the claim of an import that is a backup, until an append tells the log", async () => {
        const { bundle } = await lived();
        const bundleAt = clock.wall() - 5;
        const params = { ...taking(bundle), bundleAt };
        await store.importTask(params);
        const log = { ...params, seq: 4, chain: bundle.entries[3]?.chain as Uint8Array };
        expect((await rowOf(log)).restoredFrom).toBe(bundleAt);
        const claim = await hold(log);
        expect(claim.restoredFrom).toBe(bundleAt);
        await append(log, claim, [told("a")], { epoch: claim.epoch });
        expect((await rowOf(log)).restoredFrom).toBeNull();
        expect((await rowOf(await take(bundle))).restoredFrom).toBeNull();
        expect(await findings(log)).toEqual([]);
      });

      it("makes an import that is a backup ready where its turn may have gone on, and no other", async () => {
        const { bundle } = await lived();
        const ready: Record<string, boolean> = {};
        const standing: Record<string, Partial<TaskColumns>> = {
          running: RUNNING,
          asking: { ...WAITING, waitingOn: "answer", outcome: null },
          rested: { ...WAITING, outcome: "completed" },
          ended: ENDED,
        };
        for (const [name, columns] of Object.entries(standing)) {
          const params = { ...taking(bundle, columns), bundleAt: clock.wall() };
          await store.importTask({ ...params, rows: [] });
          ready[name] = (await store.claim(claiming({ taskId: params.taskId }))) !== null;
        }
        expect(ready).toEqual({ running: true, asking: true, rested: false, ended: false });
      });

      it("refuses a task id that is taken", async () => {
        const { log, bundle } = await lived();
        const before = await rowOf(log);
        await refused(store.importTask({ ...taking(bundle), taskId: log.taskId }), "conflict");
        expect(await rowOf(log)).toEqual(before);
      });

      it("refuses a bundle that does not verify, and keeps nothing of it", async () => {
        const { bundle } = await lived();
        const flip = (bytes: Uint8Array | null): Uint8Array => Uint8Array.from(bytes ?? [0], (byte) => byte ^ 1);
        const change = (seq: number, made: (entry: Envelope) => Partial<Envelope>): Partial<Bundle> => ({
          entries: bundle.entries.map((entry) => (entry.seq === seq ? { ...entry, ...made(entry) } : entry)),
        });
        const [first, second, third] = bundle.entries as [Envelope, Envelope, Envelope];
        const tampered: Record<string, Partial<Bundle>> = {
          body: change(3, ({ body }) => ({ body: body.replace("b", "c") })),
          type: change(3, () => ({ type: "TaskEnded" })),
          seq: change(3, () => ({ seq: 5 })),
          salt: change(3, ({ salt: before }) => ({ salt: flip(before) })),
          digest: change(3, ({ digest }) => ({ digest: flip(digest) })),
          chain: change(3, ({ chain }) => ({ chain: flip(chain) })),
          skeleton: change(2, ({ body }) => ({ body: body.replace("test", "best") })),
          tombstone: change(3, () => ({ salt: null })),
          cut: { entries: bundle.entries.slice(0, -1) },
          swapped: { entries: [first, third, second, ...bundle.entries.slice(3)] },
          empty: {
            entries: [],
            redactions: [],
            row: { ...bundle.row, lastSeq: 0, redactions: 0, head: toHex(FIRST_CHAIN) },
          },
          redactions: { redactions: [] },
          head: { row: { ...bundle.row, head: toHex(third.chain) } },
          time: change(3, ({ at }) => ({ at: at + 0.5 })),
          "no time": change(3, () => ({ at: NaN })),
          "time of no number": change(3, () => ({ at: "1" as unknown as number })),
          "time before time": change(1, () => ({ at: -1 })),
          inbox: { row: { ...bundle.row, inboxSeq: 1.5 } },
          revision: { row: { ...bundle.row, revision: 0.5 } },
          definition: { definitions: [{ hash: definition.hash, text: "{}" }] },
        };
        for (const [what, change] of Object.entries(tampered)) {
          const params = taking({ ...bundle, ...change });
          await expect(store.importTask(params), what).rejects.toMatchObject({ code: "damaged" });
          expect(await store.getTask({ taskId: params.taskId }), what).toBeNull();
        }
        expect(await store.getDefinitions({ hashes: [definition.hash] })).toEqual([definition]);
      });
    });

    describe("following", () => {
      const live = (log: { taskId: string }, after?: number, signal = new AbortController().signal) =>
        store.follow({ taskId: log.taskId, signal, ...(after === undefined ? {} : { after }) })[Symbol.asyncIterator]();

      it("gives what is there, then what comes, and ends after the end", async () => {
        const log = await create();
        const claim = await hold(log);
        await append(log, claim, [told("a")]);
        const entries = live(log);
        const first = [await entries.next(), await entries.next()];
        const third = entries.next();
        await append(log, claim, [told("b"), told("c")]);
        const rest = [await third, await entries.next()];
        const fifth = entries.next();
        await end(log, claim);
        expect((await fifth).value).toMatchObject({ type: "TaskEnded" });
        expect(await entries.next()).toEqual({ done: true, value: undefined });
        const all = await readAll(log);
        expect([...first, ...rest].map((result) => result.value as Envelope)).toEqual(all.slice(0, 4));
      });

      it("begins after a seq", async () => {
        const log = await create();
        await append(log, await hold(log), [told("a"), told("b"), ends], { columns: ENDED });
        const signal = new AbortController().signal;
        expect(seqs(await collect(store.follow({ taskId: log.taskId, after: 2, signal })))).toEqual([3, 4]);
        expect(await collect(store.follow({ taskId: log.taskId, after: 4, signal }))).toEqual([]);
      });

      it("leaves no gap and gives nothing twice while appends race with a slow reader", async () => {
        const log = await create();
        const claim = await hold(log);
        const signal = new AbortController().signal;
        const read: number[] = [];
        const writer = async (): Promise<void> => {
          for (let index = 0; index < 30; index += 1) await append(log, claim, [told("x"), told("y")]);
          await end(log, claim);
        };
        const reader = async (): Promise<void> => {
          for await (const entry of store.follow({ taskId: log.taskId, signal })) {
            read.push(entry.seq);
            await store.getTask({ taskId: log.taskId });
          }
        };
        await Promise.all([reader(), writer()]);
        expect(read).toEqual(Array.from({ length: 62 }, (_, index) => index + 1));
      });

      it("keeps to its own task", async () => {
        const [log, other] = [await create(), await create()];
        const [claim, busy] = [await hold(log), await hold(other)];
        const entries = live(log, 1);
        const next = entries.next();
        await append(other, busy, [told("other")]);
        await append(log, claim, [told("mine")]);
        expect((await next).value).toMatchObject({ seq: 2, body: expect.stringContaining("mine") });
        await entries.return?.();
      });

      it("ends without an error when it is aborted, before or while it waits", async () => {
        const log = await create();
        const stop = new AbortController();
        const entries = live(log, 1, stop.signal);
        const next = entries.next();
        stop.abort();
        expect(await next).toEqual({ done: true, value: undefined });
        expect(await collect(store.follow({ taskId: log.taskId, signal: stop.signal }))).toEqual([]);
      });

      it("refuses to follow a task that is not there", async () => {
        await refused(live({ taskId: fresh("task") }).next(), "not_found");
      });

      it("follows what another handle appends", async (context) => {
        const other = await again(context);
        const log = await create();
        const claim = await hold(log);
        const entries = live(log, 1);
        const next = entries.next();
        await other.append(appending(log, claim, [told("from there")]));
        expect((await next).value).toMatchObject({ seq: 2 });
        await entries.return?.();
      });
    });

    describe("hints", () => {
      /** Resolves at the next hint that may concern the task. */
      const hinted = (log: { taskId: string }, of: Store = store): Promise<void> =>
        new Promise((resolve) => {
          const stop = of.subscribe((taskId) => {
            if (taskId !== null && taskId !== log.taskId) return;
            stop();
            resolve();
          });
        });

      it("come for a new task, an append, an item, and an item carried by an append", async () => {
        const { params, log } = making();
        const created = hinted(log);
        await store.createTask(params);
        await created;
        const posted = hinted(log);
        await post(log, say("a"));
        await posted;
        const other = await create();
        const [appended, carried] = [hinted(log), hinted(other)];
        const posts = [{ taskId: other.taskId, by: "core", key: "k", item: say("a") }];
        await append(log, await hold(log), [told("a")], { posts });
        await Promise.all([appended, carried]);
      });

      it("come when the change can be read", async () => {
        const log = await create();
        const seen = hinted(log).then(() => rowOf(log));
        await post(log, say("a"));
        expect(await seen).toMatchObject({ inboxSeq: 1 });
      });

      it("stop when they are no longer wanted", async () => {
        const log = await create();
        const seen: (string | null)[] = [];
        store.subscribe((taskId) => seen.push(taskId))();
        const other = hinted(log);
        await post(log, say("a"));
        await other;
        expect(seen).toEqual([]);
      });

      it("come for what another handle does", async (context) => {
        const other = await again(context);
        const log = await create();
        const posted = hinted(log, other);
        await post(log, say("a"));
        await posted;
      });
    });

    describe("the store", () => {
      it("has a name", () => {
        expect(store.name).not.toBe("");
      });

      it("tells its time, which goes with the wall clock and never back", async () => {
        const start = clock.wall();
        expect(await store.now()).toBe(start);
        clock.setWall(start - 1_000);
        expect(await store.now()).toBe(start);
        clock.setWall(start + 7);
        expect(await store.now()).toBe(start + 7);
      });

      it("closes more than once, ends follows, and refuses all work after", async () => {
        const log = await create();
        const signal = new AbortController().signal;
        const next = store.follow({ taskId: log.taskId, after: 1, signal })[Symbol.asyncIterator]().next();
        await store.close();
        await store.close();
        expect(await next).toEqual({ done: true, value: undefined });
        await refused(store.getTask({ taskId: log.taskId }), "unavailable");
        await refused(post(log, say("a")), "unavailable");
        await refused(collect(store.follow({ taskId: log.taskId, signal })), "unavailable");
      });

      it("counts tasks, events and bytes by type, snapshots and files", async () => {
        const before = await store.stats();
        const log = await create();
        const params = appending(log, await hold(log), [told("ä"), told("b")]);
        await store.append(params);
        const { revision } = await rowOf(log);
        const snapshot = { seq: 1, version: "v1", revision, bytes: Uint8Array.of(1, 2, 3) };
        await store.putSnapshot({ taskId: log.taskId, snapshot });
        await store.putFile({ taskId: log.taskId, name: "f", mediaType: "text/plain", bytes: Uint8Array.of(1, 2) });
        const after = await store.stats();
        const of = (stats: typeof before) => stats.types.find((one) => one.type === "ExtensionRecorded");
        const bytes = params.drafts.reduce((sum, draft) => sum + Buffer.byteLength(draft.body), 0);
        expect(after.tasks - before.tasks).toBe(1);
        expect((of(after)?.events ?? 0) - (of(before)?.events ?? 0)).toBe(2);
        expect((of(after)?.bytes ?? 0) - (of(before)?.bytes ?? 0)).toBe(bytes);
        expect(after.snapshotBytes - before.snapshotBytes).toBe(3);
        expect(after.fileBytes - before.fileBytes).toBe(2);
        expect(after.storeBytes === null || after.storeBytes > 0).toBe(true);
      });

      it("finds nothing wrong with itself after a busy life", async () => {
        const log = await create({ rows: [timerRow("t", clock.wall() + 5)] });
        const claim = await hold(log);
        await post(log, say("a"));
        const child = making({ columns: { parent: log.taskId } });
        await append(log, claim, [told("a")], { children: [child.params], taken: 1 });
        await store.redact({ taskId: log.taskId, seqs: [2], secret: newSecret() });
        await store.putFile({ taskId: log.taskId, name: "f", mediaType: "text/plain", bytes: Uint8Array.of(1) });
        await end(child.log, await hold(child.log));
        clock.pass(LEASE_MS);
        await hold(log);
        expect(await store.check()).toEqual([]);
      });

      it("passes all content through its seal, with the task it belongs to", async () => {
        await opened.dispose();
        const sealed = new Map<string, string[]>();
        const turn = (bytes: Uint8Array): Uint8Array => Uint8Array.from(bytes, (byte) => byte ^ 0x55);
        await begin({
          seal: {
            seal(bytes, taskId) {
              sealed.set(taskId, [...(sealed.get(taskId) ?? []), Buffer.from(bytes).toString()]);
              return Uint8Array.of(7, ...turn(bytes));
            },
            open: (bytes) => turn(bytes.subarray(1)),
          },
        });
        const log = await create();
        await post(log, say("item"));
        const claim = await hold(log);
        const params = appending(log, claim, [told("event")]);
        await store.append(params);
        const snapshot = { seq: 1, version: "v1", revision: claim.revision, bytes: Buffer.from("snapshot") };
        await store.putSnapshot({
          taskId: log.taskId,
          snapshot: { ...snapshot, bytes: new Uint8Array(snapshot.bytes) },
        });
        await store.putFile({ taskId: log.taskId, name: "f", mediaType: "t", bytes: Uint8Array.from([102, 105]) });
        const contents = [params.drafts[0]?.body, JSON.stringify(say("item")), "snapshot", "fi"];
        expect(sealed.get(log.taskId)).toEqual(expect.arrayContaining(contents));
        clock.pass(LEASE_MS);
        const held = await hold(log, { snapshotVersions: { scribe: "v1" } });
        expect(texts(held.inbox)).toEqual(["item"]);
        expect(bodies(held.entries)).toEqual(bodies(params.drafts));
        expect(Buffer.from(held.snapshot?.bytes ?? []).toString()).toBe("snapshot");
        const file = await store.getFile({ taskId: log.taskId, name: "f" });
        expect(file?.bytes).toEqual(Uint8Array.from([102, 105]));
        const { revision } = await store.redact({ taskId: log.taskId, seqs: [2], items: [1], secret: newSecret() });
        expect(texts(await untaken(log, held))).toEqual([""]);
        expect(await rowOf(log)).toMatchObject({ revision, redactions: 1 });
        expect(await findings(log)).toEqual([]);
      });
    });

    describe("a second handle", () => {
      it("reads what the first wrote, also after the first is closed", async (context) => {
        const other = await again(context);
        const log = await create();
        await post(log, say("a"));
        const expected = [await readAll(log), await rowOf(log)];
        await store.close();
        const { taskId } = log;
        expect([await other.read({ taskId }), await other.getTask({ taskId })]).toEqual(expected);
        expect(texts((await other.claim(claiming({ taskId })))?.inbox ?? [])).toEqual(["a"]);
      });

      it("gets no task that the first holds, and refuses the first once it took over", async (context) => {
        const other = await again(context);
        const log = await create();
        const claim = await hold(log);
        const { taskId } = log;
        expect(await other.claim(claiming({ taskId, worker: "w2" }))).toBeNull();
        clock.pass(LEASE_MS);
        expect(await other.claim(claiming({ taskId, worker: "w2" }))).toMatchObject({ attempts: 2 });
        await refused(store.append(appending(log, claim, [told("late")])), "not_owner");
        await refused(store.renew({ taskId, fence: claim.fence, leaseMs: LEASE_MS }), "not_owner");
      });

      it("claims each of many tasks once between the two", async (context) => {
        const other = await again(context);
        const queue = fresh("queue");
        for (let index = 0; index < 12; index += 1) await create({ columns: { queue } });
        const taken = async (of: Store): Promise<string[]> => {
          const ids: string[] = [];
          for (;;) {
            const claim = await of.claim(claiming({ queues: [queue] }));
            if (claim === null) return ids;
            ids.push(claim.taskId);
          }
        };
        const ids = (await Promise.all([taken(store), taken(other)])).flat();
        expect(ids).toHaveLength(12);
        expect(new Set(ids).size).toBe(12);
      });

      it("makes one item of two posts with one key, and one event of two appends", async (context) => {
        const other = await again(context);
        const log = await create();
        const claim = await hold(log);
        const params = { taskId: log.taskId, by: "local:root", key: "k", item: say("a") };
        const receipts = await Promise.all([store.post(params), other.post(params)]);
        expect(receipts.map((receipt) => receipt.duplicate).sort()).toEqual([false, true]);
        const appends = [store, other].map((of) => of.append(appending(log, claim, [told("a")])));
        const outcomes = await Promise.allSettled(appends);
        expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(["fulfilled", "rejected"]);
        expect(outcomes.find((outcome) => outcome.status === "rejected")?.reason).toMatchObject({ code: "conflict" });
      });

      it("goes on from the time that the first has seen, though the wall clock went back", async (context) => {
        const log = await create();
        const claim = await hold(log);
        clock.pass(60_000);
        await append(log, claim, [told("a")]);
        const seen = clock.wall();
        await store.close();
        clock.setWall(seen - 50_000);
        const other = await again(context);
        expect(await other.now()).toBe(seen);
        expect(await other.append(appending(log, claim, [told("b")]))).toMatchObject({ at: seen });
      });
    });
  });
}
