// One simulated run: a process that is started again whenever it dies, a person who answers what is asked, and at the end
// the judgement of the oracles.
import { decodeEvent } from "../../core/codec.ts";
import { printLog } from "../../core/print.ts";
import type { NewItem } from "../../core/items.ts";
import type { Store } from "../../store/store.ts";
import { judge } from "./oracles.ts";
import { answerText, questionsIn } from "./plugin-calls.ts";
import type { Fault, FaultPlan, PortCall } from "./scheduler.ts";
import { SimulatedSystem } from "./system.ts";
import { World, type Scripted } from "./world.ts";

export interface ScenarioOptions {
  readonly seed: number;
  readonly plan: FaultPlan;
  readonly script: readonly Scripted[];
  /** What the person says, one after the other, each once the task waits for input. The first is the objective. */
  readonly says: readonly string[];
  readonly onInterrupt: "continue" | "pause";
}

export interface ScenarioResult {
  /** Everything that is wrong; empty when all holds. */
  readonly faults: readonly string[];
  readonly trace: readonly (PortCall & { readonly fault: Fault | null })[];
  /** The printed log. */
  readonly log: string;
  readonly notes: readonly string[];
}

const TASK = "task";
/** How long a process takes to come back, and how often the person looks (ms of virtual time). */
const RESTART_MS = 100;
const LOOK_MS = 250;

/** Says what there is to say, settles what is unknown by looking at the world, resumes what was paused. */
class Person {
  /** Inbox seqs that posts were acknowledged with; the objective's Say came with the task. */
  readonly accepted: number[] = [1];
  done = false;
  readonly #store: Store;
  readonly #world: World;
  readonly #says: readonly string[];
  readonly #send: (item: NewItem) => Promise<number>;
  #said = 1;

  constructor(store: Store, world: World, says: readonly string[], send: (item: NewItem) => Promise<number>) {
    this.#store = store;
    this.#world = world;
    this.#says = says;
    this.#send = send;
  }

  async #post(item: NewItem): Promise<void> {
    this.accepted.push(await this.#send(item));
  }

  /** Looks once and does what is called for. */
  async look(): Promise<void> {
    const row = await this.#store.getTask({ taskId: TASK });
    if (row?.status !== "waiting" || row.inboxSeq > row.inboxTaken) return;
    const next = this.#says[this.#said];
    if (row.waitingOn === "resolution") await this.#settle();
    else if (row.waitingOn === "answer") await this.#answer();
    else if (row.waitingOn === "resume") await this.#post({ type: "Resume" });
    else if (row.waitingOn === "input" && next !== undefined) {
      this.#said += 1;
      await this.#post({ type: "Say", text: next });
    } else this.done = row.waitingOn === "input" && row.outcome === "completed";
  }

  /** Two front ends answer each open question at once; the first counts. */
  async #answer(): Promise<void> {
    const entries = await this.#store.read({ taskId: TASK });
    const log = entries.map(({ seq, at, type, body }) => ({ seq, at, event: decodeEvent(type, body) }));
    for (const question of questionsIn(log).open) {
      const say = (word: string) => this.#post({ type: "Answer", question, text: answerText(question, word) });
      await Promise.all([say("here"), say("there")]);
    }
  }

  async #settle(): Promise<void> {
    for (const action of await this.#store.readRows({ taskId: TASK, table: "actions" })) {
      if (action.set?.["status"] !== "unknown") continue;
      const outcome = this.#world.happened(action.key) ? "done" : "absent";
      await this.#post({ type: "Resolve", callId: action.key, outcome, verification: "looked" });
    }
  }
}

/** Runs a scenario to its end and judges it. */
export const runScenario = async (options: ScenarioOptions): Promise<ScenarioResult> => {
  const { seed, plan, says, onInterrupt } = options;
  const system = new SimulatedSystem({
    seed,
    plan,
    onCrash: () => {
      void scheduler.sleep(system.person, RESTART_MS).then(() => system.start(world));
    },
  });
  const { scheduler, store } = system;
  const world = new World(system, options.script, onInterrupt);
  const person = new Person(store, world, says, async (item) => (await system.post(TASK, item)).seq);
  const watch = async (): Promise<void> => {
    while (!person.done) {
      await scheduler.sleep(system.person, LOOK_MS);
      await person.look();
    }
  };

  const { name: agent, settings: config } = world.agentSettings;
  await system.create(TASK, { agent, config, objective: says[0] ?? "", onInterrupt, mode: "conversation" });
  system.start(world);
  const watching = watch();
  // A look that fails leaves the person not done, which is a fault of the run.
  watching.catch((error: unknown) => system.notes.push(String(error)));
  await scheduler.run(() => person.done);
  const faults = person.done ? [] : ["the task did not come to its end"];
  const { effects, sent } = world;
  const evidence = { store, taskId: TASK, reducers: world.reducers, effects, sent, accepted: person.accepted };
  faults.push(...(await judge({ ...evidence, idempotent: world.idempotent })));
  return { faults, trace: scheduler.trace, log: printLog(await system.read(TASK)), notes: system.notes };
};
