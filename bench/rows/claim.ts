// Claims of a long log: from asking the store to knowing the next step, without and with a snapshot, and compacted.
import { decide, type Facts, type Step } from "../../src/core/decide.ts";
import type { TaskState } from "../../src/core/state.ts";
import { loadClaim } from "../../src/runner/load.ts";
import { writeSnapshot } from "../../src/runner/snapshot.ts";
import { writeCompacted, writeConversation } from "../conversation.ts";
import { figureOf, ratios, timed } from "../figures.ts";
import { claimParams } from "../log-writer.ts";
import { createLoopingModel, prepareLoopingAgent } from "../looping-agent.ts";
import { createProgram, type Program } from "../program.ts";
import { openReader } from "../raw-reads.ts";
import { atLeast, atMost, type Measured, type Row } from "../row.ts";
import { openStore, storePath } from "../sqlite-files.ts";

const EVENTS = 20_000;
const ROUNDS = 15;
const WARM_UP = 3;

const FACTS: Facts = {
  untaken: false,
  announced: new Set(),
  unverified: new Set(),
  stoppedMidTurn: null,
  now: 0,
  context: "fits",
  goals: null,
};

const stepOf = (state: TaskState): Step => decide(state, FACTS);

/** Claims the task, folds it, asks for its next step; gives the claim back outside the time (ms) that it tells. */
const claimOnce = async (program: Program, taskId: string, snapshots: boolean): Promise<number> => {
  const { store, ports, agent } = program;
  const params = { ...claimParams(program, taskId), ...(snapshots ? {} : { snapshotVersions: {} }) };
  const before = performance.now();
  const claim = await store.claim(params);
  if (claim === null) throw new Error(`task ${taskId} cannot be claimed`);
  const loaded = await loadClaim(ports, claim, agent.reducers);
  if (!loaded.ok || stepOf(loaded.state).do !== "CallModel") throw new Error(`task ${taskId} does not go on`);
  const took = performance.now() - before;
  if (snapshots !== (claim.snapshot !== null)) throw new Error(`task ${taskId} has no such snapshot`);
  await store.release({ taskId, fence: claim.fence, kind: "stop" });
  return took;
};

const keepSnapshot = async (program: Program, taskId: string): Promise<void> => {
  const { ports, agent, store } = program;
  const version = ports.snapshotVersion(agent.agent.name);
  const revision = (await store.getTask({ taskId }))?.revision;
  if (version === null || revision === undefined) throw new Error("this program makes no snapshots");
  const kept = await writeSnapshot(ports, { taskId, version, revision, reducers: agent.reducers });
  if (kept === null) throw new Error(`no snapshot of task ${taskId} was kept`);
};

/** Both times, each claim right beside its floor. */
const besideFloor = async (
  floor: () => unknown,
  claim: () => Promise<number>,
): Promise<{ readonly floors: number[]; readonly claims: number[] }> => {
  const floors: number[] = [];
  const claims: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    floors.push(await timed(floor));
    claims.push(await claim());
  }
  return { floors: floors.slice(WARM_UP), claims: claims.slice(WARM_UP) };
};

/** What is read by hand: a log, or its snapshot. */
export interface Reading {
  log(taskId: string): unknown;
  snapshot(taskId: string): unknown;
}

export const measureClaims = async (
  program: Program,
  reader: Reading,
  progress: (message: string) => void,
): Promise<Measured> => {
  progress(`claim: writing ${String(EVENTS)} events, twice`);
  const plain = await writeConversation(program, EVENTS);
  const compacted = await writeCompacted(program, EVENTS);
  progress("claim: without a snapshot");
  const folded = await besideFloor(
    () => reader.log(plain),
    () => claimOnce(program, plain, false),
  );
  await keepSnapshot(program, plain);
  await keepSnapshot(program, compacted);
  progress("claim: with a snapshot");
  const restored = await besideFloor(
    () => reader.snapshot(plain),
    () => claimOnce(program, plain, true),
  );
  progress("claim: compacted");
  const without: number[] = [];
  const withOne: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    without.push(await claimOnce(program, compacted, false));
    withOne.push(await claimOnce(program, compacted, true));
  }
  const count = EVENTS.toLocaleString("en");
  return {
    floors: [
      { what: `reading and parsing ${count} events`, unit: "ms", figure: figureOf(folded.floors) },
      { what: "reading and parsing their snapshot", unit: "ms", figure: figureOf(restored.floors) },
    ],
    results: [
      {
        what: `claim of ${count} events, no snapshot`,
        unit: "ms",
        figure: figureOf(folded.claims),
        ratio: { of: "reading and parsing them", figure: figureOf(ratios(folded.claims, folded.floors)) },
        bar: atMost(1.7),
      },
      {
        what: `claim of ${count} events, snapshot`,
        unit: "ms",
        figure: figureOf(restored.claims),
        ratio: { of: "reading and parsing it", figure: figureOf(ratios(restored.claims, restored.floors)) },
        bar: atMost(2),
      },
      {
        what: "claim of a compacted log, snapshot",
        unit: "ms",
        figure: figureOf(withOne),
        ratio: { of: "times faster than without", figure: figureOf(ratios(without, withOne)) },
        bar: atLeast(5),
      },
    ],
  };
};

export const claim: Row = {
  name: "claim",
  async measure(bench) {
    const folder = bench.folder();
    const store = await openStore(folder);
    const model = createLoopingModel({ isLast: () => true });
    const program = await createProgram({ store, agent: await prepareLoopingAgent({ outputChars: 500 }), model });
    const reader = openReader(storePath(folder));
    const measured = await measureClaims(program, reader, bench.progress);
    reader.close();
    await store.close();
    return measured;
  },
};
