// What a worker costs while 10,000 tasks are parked, beside one with ten.
import { FIRST_CHAIN, sealEvents } from "../../src/core/envelope.ts";
import type { Event } from "../../src/core/events.ts";
import { fold } from "../../src/core/fold.ts";
import { columnsOf } from "../../src/core/project.ts";
import type { CreateParams } from "../../src/store/store.ts";
import { BenchProcess, type Message } from "../child-process.ts";
import { figureOf } from "../figures.ts";
import { LogWriter } from "../log-writer.ts";
import { createLoopingModel, MODEL, prepareLoopingAgent } from "../looping-agent.ts";
import { createProgram, newTask, type Program } from "../program.ts";
import { atMost, type Row } from "../row.ts";
import { openStoreAt } from "../stores.ts";

const MANY = 10_000;
const FEW = 10;
/** Tasks to a transaction. */
const TOGETHER = 1_000;
/** Every so many-th waits for a time that is a year away, the others for input. */
const TIMED = 10;
const YEAR_MS = 365 * 86_400_000;

const eventsOf = (program: Program, taskId: string, index: number): Event[] => {
  const { principal: owner, frontEnd, place } = program.client;
  const origin = { frontEnd, place, conversation: taskId, private: false };
  const dueAt = Date.now() + YEAR_MS;
  const timer: Event[] =
    index % TIMED === 0
      ? [{ type: "ExtensionRecorded", extension: "core", kind: "timer_set", v: 1, data: { id: "later", dueAt } }]
      : [];
  return [
    {
      type: "TaskCreated",
      agent: program.agent.agent.name,
      config: { model: MODEL },
      objective: "Wait.",
      owner,
      origin,
      root: taskId,
      onInterrupt: "continue",
      mode: "conversation",
    },
    { type: "InputTaken", items: [], through: 0 },
    ...timer,
    { type: "Waiting", on: timer.length > 0 ? "timer" : "input", detail: {} },
  ];
};

const parkedTask = (program: Program, index: number): CreateParams => {
  const { hasher, random } = program.client;
  const taskId = random.id();
  const events = eventsOf(program, taskId, index);
  const recorded = events.map((event, at) => ({ seq: at + 1, at: 0, event }));
  const state = fold(taskId, recorded, program.agent.reducers);
  const rows = Object.entries(state.timers).map(([key, { dueAt }]) => {
    return { table: "timers", key, set: { dueAt, callId: null, seq: 3 } } as const;
  });
  return {
    task: { taskId, secret: random.secret(), columns: columnsOf(state), rows },
    drafts: sealEvents(hasher, { seq: 0, chain: FIRST_CHAIN }, events, random.salt),
    items: [],
  };
};

/** Parks so many tasks in a new store. They are made as children of one, to have few transactions. */
export const parkTasks = async (place: string, count: number): Promise<string> => {
  const store = await openStoreAt(place);
  const model = createLoopingModel({ isLast: () => true });
  const program = await createProgram({ store, agent: await prepareLoopingAgent({ outputChars: 500 }), model });
  const writer = await LogWriter.begin(program, await newTask(program));
  for (let made = 0; made < count; made += TOGETHER) {
    const children = Array.from({ length: Math.min(TOGETHER, count - made) }, (_, index) => parkedTask(program, index));
    await writer.append([{ type: "ExtensionRecorded", extension: "look", kind: "made", v: 1, data: made }], children);
  }
  await writer.append([{ type: "TaskEnded", outcome: "done" }]);
  await writer.release();
  await store.close();
  return place;
};

/** What a worker tells of ten seconds in which it is idle. `meanwhile` runs at their end. */
export const idleBeside = async <T>(
  place: string,
  meanwhile: () => Promise<T>,
): Promise<NonNullable<Message["idled"]> & { readonly seen: T }> => {
  const worker = new BenchProcess("perdure-worker.ts", place, "idles");
  await worker.next("ready");
  const idled = await worker.next("idled");
  const seen = await meanwhile();
  await worker.close();
  return { ...idled, seen };
};

const nothing = (): Promise<undefined> => Promise.resolve(undefined);

export const idle: Row = {
  name: "idle",
  async measure(bench) {
    bench.progress(`idle: parking ${String(MANY)} tasks`);
    const folders = [await parkTasks(bench.folder(), MANY), await parkTasks(bench.folder(), FEW)] as const;
    bench.progress("idle: watching idle workers for ten seconds");
    const [many, few] = await Promise.all([idleBeside(folders[0], nothing), idleBeside(folders[1], nothing)]);
    const percent = (share: number) => figureOf([share * 100]);
    return {
      floors: [],
      results: [
        { what: `an idle worker, ${String(FEW)} parked tasks`, unit: "% of a core", figure: percent(few.share) },
        {
          what: `an idle worker, ${MANY.toLocaleString("en")} parked tasks`,
          unit: "% of a core",
          figure: percent(many.share),
          bar: atMost(1, "%"),
        },
        {
          what: "files that it has open",
          unit: "files",
          figure: figureOf([many.files]),
          ratio: { of: `those with ${String(FEW)}`, figure: figureOf([many.files / few.files]) },
          bar: atMost(1),
        },
      ],
    };
  },
};
