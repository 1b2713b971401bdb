// One fuzzed log: a golden log is cut, put into a store, spoilt there, and claimed by a real worker. What must come of it is
// told from the bytes alone, before the worker sees them.
import { gunzipSync, gzipSync } from "node:zlib";
import { CodecError, decodeEvent } from "../../src/core/codec.ts";
import { isEqualJson } from "../../src/core/equal.ts";
import { fold } from "../../src/core/fold.ts";
import type { Recorded } from "../../src/core/events.ts";
import { buildPrefix, buildRequest, type ToolDefinition } from "../../src/core/request.ts";
import type { Reducers, TaskState } from "../../src/core/state.ts";
import type { Plugin } from "../../src/plugins/plugin.ts";
import type { RunEnd } from "../../src/runner/runner.ts";
import { checkLog } from "../../src/core/check-log.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import type { Clock, Store } from "../../src/store/store.ts";
import { TASK, type Harness } from "../../src/testing/harness.ts";
import { createChance, type Chance } from "../../src/testing/simulation/chance.ts";
import { harnessFor, load } from "../golden/go-on.ts";
import { readGolden, type Golden } from "../golden/logs.ts";
import type { Scenario } from "../golden/scenario.ts";
import { scenarios } from "../golden/scenarios.ts";
import { flipBit, mutations } from "./mutations.ts";
import { rawLogInMemory, type RawEvent, type RawLog } from "./raw-log.ts";

/**
 * What must come of a log.
 * - `same`: it folds to what it folded to before; the task goes on.
 * - `reported`: it folds, to something else; `check` says that the log is not what was written.
 * - `other`: it folds, to something else, and it is whole: another log, as somebody wrote it.
 * - `damaged`: the third claim ends the task. `newer`: left alone. `held`: whole, but it does not fold here.
 */
export type Verdict = "same" | "reported" | "other" | "damaged" | "newer" | "held";

/** What is fuzzed: a SQLite file, where given, else the memory store. */
export interface Place {
  readonly store: (clock: Clock) => Store;
  readonly raw: RawLog;
}

export interface Fuzzed {
  readonly seed: number;
  readonly golden: string;
  readonly through: number;
  readonly mutation: string;
  readonly verdict: Verdict;
  /** What is wrong; empty when all holds. */
  readonly faults: readonly string[];
}

const goldens = new Map<string, Golden>();
const goldenOf = (name: string): Golden => {
  const golden = goldens.get(name) ?? readGolden(name);
  goldens.set(name, golden);
  return golden;
};

const goldenDefinitions = (): Golden["definitions"] => goldens.values().next().value?.definitions ?? [];

/** What is told of a seed whose log is whole, and whose reducers are not. */
export const THROWS = "a reducer throws";

/** The same plugins; their reducers throw at records from a seq on. */
const throwingFrom = (plugins: readonly Plugin[], seq: number): Plugin[] =>
  plugins.map((plugin) => {
    const { reducer } = plugin;
    if (reducer === undefined) return plugin;
    const reduce: typeof reducer.reduce = (state, record) => {
      if (record.seq >= seq) throw new Error(`${plugin.name} cannot reduce ${record.kind}`);
      return reducer.reduce(state, record);
    };
    return { ...plugin, reducer: { ...reducer, reduce } };
  });

const foldOf = async (store: Store, reducers: Reducers): Promise<TaskState> => {
  const entries = await store.read({ taskId: TASK });
  const log = entries.map(({ seq, at, type, body }): Recorded => ({ seq, at, event: decodeEvent(type, body) }));
  return fold(TASK, log, reducers);
};

const judge = async (harness: Harness, before: TaskState): Promise<Verdict> => {
  const { store, agent } = harness;
  const row = await harness.row();
  const entries = await store.read({ taskId: TASK });
  const redactions = await store.readRedactions({ taskId: TASK });
  const isWhole = checkLog({ taskId: TASK, entries, redactions, row, hasher: nodeHasher }).length === 0;
  try {
    const state = await foldOf(store, agent.reducers);
    if (state.seq !== row.lastSeq) return "damaged";
    if (isEqualJson(state, before)) return "same";
    return isWhole ? "other" : "reported";
  } catch (error) {
    if (!isWhole) return "damaged";
    return error instanceof CodecError && error.code === "newer_version" ? "newer" : "held";
  }
};

const endsFor: Readonly<Record<Exclude<Verdict, "same" | "reported" | "other">, readonly RunEnd[]>> = {
  damaged: ["damaged", "damaged", "ended"],
  newer: ["newer", "newer"],
  held: ["held", "held"],
};

const text = ({ seq, at, type, body, chain }: RawEvent): string =>
  [seq, at, type, Buffer.from(body).toString("hex"), Buffer.from(chain).toString("hex")].join(" ");

const isAtRest = async (harness: Harness): Promise<boolean> => {
  const { status, claimedBy, inboxSeq, inboxTaken, held } = await harness.row();
  const rests = status === "ended" || (status === "waiting" && inboxSeq === inboxTaken);
  return claimedBy === null && (rests || held !== null);
};

/** Lets a worker at it until the verdict has come true, or the task rests; what is wrong with how it ended. */
const runIt = async (harness: Harness, verdict: Verdict): Promise<string[]> => {
  const goesOn = verdict === "same" || verdict === "reported" || verdict === "other";
  const wanted = goesOn ? [] : endsFor[verdict];
  let rests = false;
  const look = async (): Promise<void> => {
    while (!rests) {
      await harness.sleep(200);
      rests = goesOn ? await isAtRest(harness) : harness.ends.length >= wanted.length;
    }
  };
  const looking = look();
  await harness.system.scheduler.run(() => rests, 50_000);
  if (!rests) return [`it hangs; its runs ended ${harness.ends.join()}`];
  await looking;
  if (goesOn) return harness.ends.includes("damaged") ? ["a log that folds was taken for damaged"] : [];
  const ends = harness.ends.slice(0, wanted.length);
  return isEqualJson(ends, wanted) ? [] : [`its runs ended ${ends.join()}, not ${wanted.join()}`];
};

/** Another task of the same worker is served as if nothing were; or held, where that is what its code does to any. */
const bystanderFaults = async (harness: Harness, throws: boolean): Promise<string[]> => {
  const { store, system } = harness;
  const agent = { agent: "harnessed", config: { model: "script" }, onInterrupt: "continue", mode: "oneShot" } as const;
  await system.create("bystander", { ...agent, objective: "and I?" });
  let served = false;
  const look = async (): Promise<void> => {
    while (!served) {
      await harness.sleep(200);
      const row = await store.getTask({ taskId: "bystander" });
      served = row?.status === "ended" || row?.status === "waiting" || (throws && row?.held != null);
    }
  };
  void look();
  await system.scheduler.run(() => served, 50_000);
  return served ? [] : ["the worker serves no other task any more"];
};

/** A golden log that has not ended where it is cut. */
const choose = (chance: Chance): { scenario: Scenario; golden: Golden; through: number } => {
  const scenario = scenarios[chance.below(scenarios.length)];
  if (scenario === undefined) throw new Error("there are no scenarios");
  const golden = goldenOf(scenario.name);
  const ends = golden.log.at(-1)?.event.type === "TaskEnded" ? 1 : 0;
  return { scenario, golden, through: 4 + chance.below(golden.log.length - ends - 3) };
};

/** Which snapshot is put, and how it is spoilt. One in five is whole. */
const spoilSnapshot = async (harness: Harness, chance: Chance): Promise<string> => {
  const log = await harness.events();
  const seq = 1 + chance.below(log.length);
  const whole = gzipSync(JSON.stringify(fold(TASK, log.slice(0, seq), harness.agent.reducers)), { level: 1 });
  const [how, bytes] = (
    [
      ["whole", whole],
      ["with a bit flipped", flipBit(whole, chance)],
      ["cut", whole.subarray(0, chance.below(whole.length))],
      ["of noise", chance.bytes(whole.length)],
      ["of no state", gzipSync('{"taskId":"task"}')],
    ] as const
  )[chance.below(5)] ?? ["whole", whole];
  const { revision } = await harness.row();
  // A snapshot says of itself which seq it is of; one that is kept as another's is none.
  const keptAs = chance.below(4) === 0 ? 1 + chance.below(log.length) : seq;
  const snapshot = { seq: keptAs, version: "simulation", revision, bytes };
  await harness.store.putSnapshot({ taskId: TASK, snapshot });
  return keptAs === seq ? `a snapshot ${how}` : `a snapshot ${how}, of another seq`;
};

/** Each request is the one that the log, folded from its start, gives. */
const requestFaults = async (harness: Harness, through: number): Promise<string[]> => {
  const { agent, sent } = harness;
  const requests = sent.filter(({ context }) => context.taskId === TASK).map(({ request }) => request);
  const known = [...agent.tools.values()].map(({ entry, definition }) => [entry.definition, definition] as const);
  const kept = goldenDefinitions().map(({ hash, text }) => [hash, text] as const);
  const definitions = new Map(
    [...kept, ...known].map(([hash, text]) => [hash, JSON.parse(text) as ToolDefinition] as const),
  );
  const log = await harness.events();
  const called = log.filter(({ seq, event }) => event.type === "ModelCalled" && seq > through);
  if (called.length !== requests.length)
    return [`${String(called.length)} calls announced, ${String(requests.length)} made`];
  return called.flatMap(({ seq }, index) => {
    const state = fold(TASK, log.slice(0, seq - 1), agent.reducers);
    const wanted = buildRequest(state, buildPrefix(state, definitions));
    return isEqualJson(requests[index], wanted) ? [] : [`the request at seq ${String(seq)} is another`];
  });
};

const spoil = (raw: RawLog, chance: Chance): string => {
  const [name, mutate] = mutations[chance.below(mutations.length)] ?? ["", undefined];
  const { events, lastSeq } = mutate?.(raw.read(), chance) ?? { events: [], lastSeq: 0 };
  raw.write(events, lastSeq);
  return name;
};

const never = async (): Promise<void> => undefined;

/** Everything of one seed. One in ten has reducers that throw, one a snapshot, in place of a spoilt log. */
export const fuzz = async (seed: number, place?: Place): Promise<Fuzzed> => {
  const chance = createChance(seed);
  const { scenario, golden, through } = choose(chance);
  const harness: Harness = await harnessFor(scenario, place?.store, {
    ports: { compress: async (text) => gzipSync(text), decompress: (bytes) => gunzipSync(bytes).toString("utf8") },
    worker: {
      maxAttempts: 5,
      onRunEnd: (taskId, end) => {
        if (taskId === TASK) harness.ends.push(end);
      },
    },
  });
  await load(harness, golden, through);
  const before = await foldOf(harness.store, harness.agent.reducers);
  const raw = place?.raw ?? rawLogInMemory(harness.state);
  const way = chance.below(10);
  const throws = way === 0;
  const { plugins = [] } = scenario.options(never);
  if (throws) await harness.use({ plugins: throwingFrom(plugins, 1 + chance.below(through + 8)) });
  const mutation = throws ? THROWS : way === 1 ? await spoilSnapshot(harness, chance) : spoil(raw, chance);
  const verdict = await judge(harness, before);
  const spoilt = raw.read().map(text);
  await harness.post({ type: "Say", text: "again" });
  harness.start();
  const faults = await runIt(harness, verdict);
  const { held } = await harness.row();
  if (verdict === "same" && held !== null && !throws) faults.push(`it folds, and was held: ${held.reason}`);
  faults.push(...(await bystanderFaults(harness, throws)));
  if (verdict === "same" && !throws) faults.push(...(await requestFaults(harness, through)));
  const after = raw.read().map(text);
  if (!spoilt.every((line, index) => line === after[index])) faults.push("an event that was there was changed");
  if ((verdict === "newer" || verdict === "held") && after.length > spoilt.length)
    faults.push("something was appended");
  return { seed, golden: golden.name, through, mutation, verdict, faults };
};
