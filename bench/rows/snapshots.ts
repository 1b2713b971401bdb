// What snapshots take: all that were ever written of a long log, and the one of a log that was compacted often.
import { fold } from "../../src/core/fold.ts";
import { decodeEvent } from "../../src/core/codec.ts";
import { encodeState, isSnapshotDue, writeSnapshot } from "../../src/runner/snapshot.ts";
import type { Store } from "../../src/store/store.ts";
import { prepareCompactingAgent, type Kept } from "../compacting-agent.ts";
import { writeCycles } from "../conversation.ts";
import { figureOf } from "../figures.ts";
import { LogWriter } from "../log-writer.ts";
import { createLoopingModel, prepareLoopingAgent } from "../looping-agent.ts";
import { createProgram, newTask, type Program } from "../program.ts";
import { atMost, type Bench, type Result, type Row } from "../row.ts";
import { openStore } from "../sqlite-files.ts";
import { runToEnd } from "../steady-loop.ts";

const EVENTS = 21_600;
const COMPACTIONS = 14;
/** A context of usual size, and one so small that what a snapshot holds beside messages counts. */
const USUAL: Kept = { messages: 20, outputChars: 2_000, contextTokens: 24_000 };
const SMALL: Kept = { messages: 6, outputChars: 400, contextTokens: 6_000 };
const SIX_KILOBYTES = 6 * 1_024;

const one = (value: number) => figureOf([value]);

/** The store, telling the size of each snapshot that is put into it. */
const withSizes = (store: Store, told: (bytes: number) => void): Store => ({
  ...store,
  putSnapshot: (params) => {
    told(params.snapshot.bytes.length);
    return store.putSnapshot(params);
  },
});

/** Writes the log cycle by cycle, and each snapshot as soon as it is due: as with a model that takes its time. */
const writeWithSnapshots = async (program: Program): Promise<{ readonly bytes: number; readonly size: number }> => {
  const { ports, agent } = program;
  const taskId = await newTask(program);
  const version = ports.snapshotVersion(agent.agent.name);
  const revision = (await program.store.getTask({ taskId }))?.revision;
  if (version === null || revision === undefined) throw new Error("this program makes no snapshots");
  const writer = await LogWriter.begin(program, taskId);
  const progress = { seq: 0, size: 0, bytesAfter: 0 };
  let counted = 0;
  while (writer.state.seq < EVENTS) {
    await writeCycles(writer, 1);
    progress.bytesAfter = writer.bytes - counted;
    if (!isSnapshotDue(progress, writer.state.seq, ports.limits.snapshotEvery)) continue;
    const kept = await writeSnapshot(ports, { taskId, version, revision, reducers: agent.reducers });
    if (kept === null) throw new Error("a snapshot was not kept");
    Object.assign(progress, kept);
    counted = writer.bytes;
  }
  return { bytes: writer.bytes, size: progress.size };
};

const everWritten = async (bench: Bench): Promise<Result> => {
  bench.progress(`snapshots: ${String(EVENTS)} events, snapshots as they fall due`);
  const sizes: number[] = [];
  const store = withSizes(await openStore(bench.folder()), (bytes) => sizes.push(bytes));
  const model = createLoopingModel({ isLast: () => true });
  const program = await createProgram({ store, agent: await prepareLoopingAgent({ outputChars: 500 }), model });
  const log = await writeWithSnapshots(program);
  await store.close();
  const written = sizes.reduce((sum, size) => sum + size, 0);
  return {
    what: `snapshots ever written, ${EVENTS.toLocaleString("en")} events`,
    unit: "bytes",
    figure: one(written),
    ratio: { of: "the events' JSON", figure: one(written / log.bytes) },
    bar: atMost(4),
    note:
      `${String(sizes.length)} of them, compressed; the last one ${String(sizes.at(-1))} bytes of ` +
      `${String(log.size)}. The text of the log compresses like prose.`,
  };
};

interface Compacted {
  /** The snapshot, not compressed; and what of it are messages and plugins' states. */
  readonly size: number;
  readonly live: number;
  readonly events: number;
}

const compactOften = async (bench: Bench, kept: Kept): Promise<Compacted> => {
  bench.progress(`snapshots: a task with ${String(COMPACTIONS)} compactions, ${String(kept.messages)} messages kept`);
  const store = await openStore(bench.folder());
  const { agent, compactions } = await prepareCompactingAgent(kept);
  const isLast = (): boolean => compactions() >= COMPACTIONS;
  const model = createLoopingModel({ isLast, contextTokens: kept.contextTokens });
  const program = await createProgram({ store, agent, model });
  const taskId = await newTask(program);
  await runToEnd(program, taskId);
  const log = (await store.read({ taskId })).map(({ seq, at, type, body }) => ({
    seq,
    at,
    event: decodeEvent(type, body),
  }));
  await store.close();
  const state = fold(taskId, log, agent.reducers);
  const text = encodeState(state);
  if (text === null || state.compactions !== COMPACTIONS) throw new Error("the task was not compacted as it should be");
  const live = JSON.stringify(state.messages).length + JSON.stringify(state.plugins).length;
  return { size: text.length, live, events: log.length };
};

const afterCompactions = async (bench: Bench): Promise<readonly Result[]> => {
  const usual = await compactOften(bench, USUAL);
  const small = await compactOften(bench, SMALL);
  const beside = `${String(small.size - small.live)} bytes of it are neither messages nor plugin state.`;
  return [
    {
      what: `snapshot after ${String(COMPACTIONS)} compactions`,
      unit: "bytes",
      figure: one(usual.size),
      ratio: { of: "live messages and plugin state", figure: one(usual.size / usual.live) },
      bar: atMost(1.3),
      note: `not compressed; the log has ${String(usual.events)} events.`,
    },
    {
      what: "the same of the smallest such task",
      unit: "bytes",
      figure: one(small.size),
      bar: atMost(SIX_KILOBYTES, "bytes"),
      note: `${String(USUAL.messages)} messages are kept by the one, ${String(SMALL.messages)} by the other; ${beside}`,
    },
  ];
};

export const snapshots: Row = {
  name: "snapshots",
  async measure(bench) {
    return { floors: [], results: [await everWritten(bench), ...(await afterCompactions(bench))] };
  },
};
