// Figures about the log's format on SQLite: strict decoding, projecting, pointers against copies, and a seal switched on.
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deserialize, serialize } from "node:v8";
import { decodeEvent } from "../../../src/core/codec.ts";
import { FIRST_CHAIN, sealEvents, type SealedEvent } from "../../../src/core/envelope.ts";
import type { Event } from "../../../src/core/events.ts";
import { apply, createState } from "../../../src/core/fold.ts";
import { applyAndProject, columnsOf } from "../../../src/core/project.ts";
import { checkLog } from "../../../src/core/check-log.ts";
import { nodeHasher } from "../../../src/store/node-hasher.ts";
import { openSqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import type { Envelope, Seal } from "../../../src/store/store.ts";
import { runLoop } from "../../steady-loop.ts";
import { open, seal } from "./costs.ts";
import { cycle } from "./fixture.ts";
import { best, median } from "./measure.ts";

const sealed: Seal = { seal, open };

const inFolder = async <T>(work: (path: string) => Promise<T>): Promise<T> => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-format-"));
  try {
    return await work(join(folder, "t.db"));
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** The log that a steady loop leaves. */
const loopLog = async (path: string, cycles: number): Promise<readonly Envelope[]> => {
  const store = await openSqliteStore({ path });
  const { taskId } = await runLoop(store, { cycles, outputChars: 1000, snapshots: false });
  const log = await store.read({ taskId });
  await store.close();
  return log;
};

export interface Figure {
  readonly name: string;
  readonly value: number;
}

const created: Event = {
  type: "TaskCreated",
  agent: "demo",
  config: { model: "m" },
  objective: "loop",
  owner: "local:root",
  origin: { frontEnd: "cli", place: "here", conversation: "one", private: true },
  root: "task",
  onInterrupt: "continue",
  mode: "run",
};

/** Appends per second, two events each, as a steady loop makes them. The runner is left out: only the store is measured. */
const appendsPerSecond = async (path: string, cycles: number, options: { seal?: Seal }): Promise<number> => {
  const store = await openSqliteStore({ path, ...options });
  const columns = columnsOf(createState("task", { seq: 1, at: 0, event: created }));
  const task = { taskId: "task", secret: randomBytes(32), columns, rows: [] };
  let after: { readonly seq: number; readonly chain: Uint8Array } = { seq: 0, chain: FIRST_CHAIN };
  const draftsOf = (events: readonly Event[]): readonly SealedEvent[] => {
    const drafts = sealEvents(nodeHasher, after, events, () => randomBytes(16));
    after = drafts.at(-1) ?? after;
    return drafts;
  };
  await store.createTask({ task, drafts: draftsOf([created]), items: [] });
  const claim = await store.claim({
    ...{ worker: "w", leaseMs: 600_000, build: "b", taskId: "task" },
    ...{ offers: columns.requires, snapshotVersions: {} },
  });
  if (claim === null) throw new Error("the task was not claimed");
  const { fence, revision } = claim;
  const began = performance.now();
  for (let n = 0; n < cycles; n += 1) {
    const [called, replied, started, finished] = cycle(n, 1000);
    for (const pair of [
      [replied, started],
      [finished, called],
    ]) {
      const drafts = draftsOf(pair.filter((event) => event !== undefined));
      await store.append({ taskId: "task", fence, revision, drafts, columns: {}, rows: [] });
    }
  }
  const speed = (cycles * 2000) / (performance.now() - began);
  const [entries, row] = [await store.read({ taskId: "task" }), await store.getTask({ taskId: "task" })];
  if (row === null || entries.length !== 1 + cycles * 4) throw new Error("the log does not read back");
  const [finding] = checkLog({ taskId: "task", entries, redactions: [], row, hasher: nodeHasher });
  if (finding !== undefined) throw new Error(finding.what);
  await store.close();
  return speed;
};

/** How many files beside the database hold words that every result of the log has. */
const filesWithWords = (path: string): number => {
  const words = cycle(0, 1000).at(-1);
  const text = words?.type === "ToolFinished" && words.content[0]?.type === "text" ? words.content[0].text : "none";
  const folder = dirname(path);
  return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(text.slice(0, 60))).length;
};

/** Appends with and without a seal, in turns; and whether the words of the log stand in the files. */
export const measureSealedAppends = async (): Promise<Figure[]> => {
  const ratios: number[] = [];
  const found = { plain: 0, sealed: 0 };
  for (let round = 0; round < 6; round += 1) {
    const speeds = { plain: 0, sealed: 0 };
    for (const way of ["plain", "sealed"] as const) {
      await inFolder(async (path) => {
        speeds[way] = await appendsPerSecond(path, 150, way === "sealed" ? { seal: sealed } : {});
        found[way] += filesWithWords(path);
      });
    }
    ratios.push(speeds.sealed / speeds.plain);
  }
  return [
    { name: "sealed appends per second, of plain ones", value: median(ratios) },
    { name: "files that hold words of the log, plain", value: found.plain },
    { name: "files that hold words of the log, sealed", value: found.sealed },
  ];
};

const microseconds = (count: number, work: () => unknown): number => {
  const rounds = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / count;
  });
  return best(rounds);
};

/** Per event of a steady loop's log: decoding, folding, projecting. */
export const measureFormat = async (): Promise<Figure[]> => {
  const log = await inFolder((path) => loopLog(path, 1000));
  const { length } = log;
  const events = log.map((entry) => decodeEvent(entry.type, entry.body));
  const values = log.map((entry) => JSON.parse(entry.body) as unknown);
  const bytes = values.map((value) => serialize(value));
  const recorded = events.map((event, index) => ({ seq: index + 1, at: 0, event }));
  const foldWith = (step: typeof apply | typeof applyAndProject) => () => {
    const [first, ...rest] = recorded;
    if (first === undefined) return;
    const state = createState("task", first);
    for (const event of rest) step(state, event, {});
  };
  const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0) / length;
  return [
    { name: "bytes as JSON", value: sum(log.map((entry) => Buffer.byteLength(entry.body))) },
    { name: "bytes by v8.serialize", value: sum(bytes.map((entry) => entry.length)) },
    {
      name: "us to JSON.parse",
      value: microseconds(length, () => log.map((entry) => JSON.parse(entry.body) as unknown)),
    },
    { name: "us to decode strictly", value: microseconds(length, () => log.map((e) => decodeEvent(e.type, e.body))) },
    {
      name: "us to v8.deserialize",
      value: microseconds(length, () => bytes.map((entry) => deserialize(entry) as unknown)),
    },
    { name: "us to fold", value: microseconds(length, foldWith(apply)) },
    { name: "us to fold and project", value: microseconds(length, foldWith(applyAndProject)) },
  ];
};

/** Bytes of a table of 5,000 actions that points into the log, and of one that copies input and result from it. */
export const measurePointers = (): Figure[] => {
  const sizeOf = (columns: string, values: (n: number) => (string | number)[]): number => {
    const database = new DatabaseSync(":memory:");
    database.exec(
      `CREATE TABLE actions (task INTEGER, key TEXT, name TEXT, status TEXT, ${columns}, PRIMARY KEY (task, key))`,
    );
    for (let n = 0; n < 5000; n += 1) {
      const row = [1, `c${String(n)}_0`, "Write", "ok", ...values(n)];
      database.prepare(`INSERT INTO actions VALUES (${row.map(() => "?").join(", ")})`).run(...row);
    }
    const pages = database
      .prepare("SELECT page_count * page_size AS size FROM pragma_page_count, pragma_page_size")
      .get();
    database.close();
    return Number(pages?.["size"]) / 5000;
  };
  const input = JSON.stringify({ file_path: "/src/file.ts", content: "x".repeat(500) });
  return [
    { name: "bytes per action, pointing", value: sizeOf("startedSeq, finishedSeq", (n) => [n, n + 1]) },
    { name: "bytes per action, copying", value: sizeOf("input, result", () => [input, "y".repeat(1000)]) },
  ];
};
