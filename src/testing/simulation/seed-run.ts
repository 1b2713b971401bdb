// One seed: several processes and people at once, faults by chance, and the oracles at the end.
import type { NewItem } from "../../core/items.ts";
import { StoreError } from "../../store/store.ts";
import { nodeHasher } from "../../store/node-hasher.ts";
import { toHex } from "../../core/envelope.ts";
import { createChance } from "./chance.ts";
import { judge } from "./oracles.ts";
import { redactSomething, type Gone } from "./redactor.ts";
import type { ScenarioResult } from "./scenario.ts";
import { answerText, questionsIn } from "./plugin-calls.ts";
import { withApprovals } from "./approval-plan.ts";
import { Approver } from "./approver.ts";
import { Around, FRIEND } from "./people.ts";
import { withPeople } from "./people-plan.ts";
import { withPlugins } from "./plugin-plan.ts";
import { createPlan, faultPlan, leaveNothing, type Deed, type Leave, type SeedPlan } from "./seed-plan.ts";
import { OWNER, SimulatedSystem, type Process } from "./system.ts";
import { World } from "./world.ts";

const TASK = "task";
const RESTART_MS = 100;
const LOOK_MS = 250;
/** Words of answers are marked from here on; those of the plan have smaller numbers. */
const ANSWERS = 1_000;
/** A person who is asked again and again gives up in the end. */
const MOST_LOOKS = 2_000;

export interface SeedResult extends ScenarioResult {
  readonly seed: number;
  /** Over every choice, fault and event: the same seed gives the same. */
  readonly traceHash: string;
  /** What the run met, by name: port calls by kind of fault, and more. */
  readonly met: ReadonlyMap<string, number>;
}

/** The people around a task: they do what the plan says, then settle and resume until it rests. */
class People {
  readonly accepted: number[] = [1];
  readonly gone: Gone[] = [];
  readonly approver: Approver;
  done = false;
  answersAtOnce = 0;
  staleAnswers = 0;
  readonly #system: SimulatedSystem;
  readonly #world: World;
  readonly #plan: SeedPlan;
  readonly #kill: () => void;
  readonly around: Around;
  #deeds = 0;
  #answers = 0;

  constructor(system: SimulatedSystem, world: World, plan: SeedPlan, kill: () => void) {
    this.#system = system;
    this.#world = world;
    this.#plan = plan;
    this.#kill = kill;
    this.approver = new Approver(system, TASK);
    this.around = new Around(system, TASK, (seq) => this.#accept(seq));
  }

  #accept(seq: number): void {
    if (!this.accepted.includes(seq)) this.accepted.push(seq);
  }

  /** Posts; what comes after the end is answered so, and counts as not accepted. */
  async #post(item: NewItem, key: string, by = OWNER): Promise<void> {
    try {
      this.#accept((await this.#system.post(TASK, item, key, by)).seq);
    } catch (error) {
      // A friend who is none, or none any more, is told of no task.
      const expected: readonly string[] = by === OWNER ? ["ended"] : ["ended", "not_found"];
      if (!(error instanceof StoreError) || !expected.includes(error.code)) throw error;
    }
  }

  async #unknownCalls(): Promise<string[]> {
    const rows = await this.#system.store.readRows({ taskId: TASK, table: "actions" });
    return rows.filter((row) => row.set?.["status"] === "unknown").map((row) => row.key);
  }

  async #questions(): Promise<ReturnType<typeof questionsIn>> {
    return questionsIn(await this.#system.read(TASK));
  }

  /** Two front ends answer a question at once, each in its own words; the first counts. */
  async #answer(question: string, key: string): Promise<void> {
    const say = (front: string) => {
      this.#answers += 1;
      const text = answerText(question, `mark${String(ANSWERS + this.#answers)}mark`);
      return this.#post({ type: "Answer", question, text }, `${key} ${question} ${front}`);
    };
    this.answersAtOnce += 1;
    await Promise.all([say("here"), say("there")]);
  }

  async #do(deed: Deed): Promise<void> {
    this.#deeds += 1;
    const key = `deed ${String(this.#deeds)}`;
    if (deed.kind === "kill") this.#kill();
    else if (deed.kind === "redact") {
      const gone = await redactSomething(this.#system, TASK);
      if (gone !== null) this.gone.push(gone);
    } else if (deed.kind === "decide") {
      const [request] = await this.approver.pending();
      if (request !== undefined) await this.approver.decide(request, deed.how);
    } else if (deed.kind === "autoApprove") {
      await this.#post({ type: "Reconfigure", settings: { autoApprove: deed.on } }, key);
    } else if (deed.kind === "steerByOther") {
      await this.#post({ type: "Steer", text: deed.text }, key, FRIEND);
    } else if (deed.kind === "verify") {
      for (const callId of await this.#unknownCalls()) await this.#post({ type: "Verify", callId }, `${key} ${callId}`);
    } else if (deed.kind === "answer") {
      const { open, closed } = await this.#questions();
      const [question] = deed.stale ? closed : open;
      if (question === undefined) return;
      if (deed.stale) this.staleAnswers += 1;
      await this.#answer(question, key);
    } else if (deed.kind !== "post") await this.around.do(deed, key);
    else {
      await Promise.all([this.#post(deed.item, key), deed.twice ? this.#post(deed.item, key) : undefined]);
    }
  }

  /** Does the deeds at their times, then looks after the task until it rests. */
  async live(): Promise<void> {
    const { scheduler, person } = this.#system;
    const begin = scheduler.now;
    for (const deed of this.#plan.deeds) {
      await scheduler.sleep(person, begin + deed.at - scheduler.now);
      await this.#do(deed);
    }
    for (let looks = 0; looks < MOST_LOOKS && !this.done; looks += 1) {
      await scheduler.sleep(person, LOOK_MS);
      this.done = await this.#lookAfter(looks);
    }
  }

  /** Settles what is unknown by looking, resumes what was paused. True once the task rests for good. */
  async #lookAfter(look: number): Promise<boolean> {
    const row = await this.#system.store.getTask({ taskId: TASK });
    if (row === null || row.status === "ended") return row !== null;
    if (row.status !== "waiting" || row.inboxSeq > row.inboxTaken || row.claimedBy !== null) return false;
    const [request] = await this.approver.pending();
    if (request !== undefined) {
      await this.approver.decide(request, "both");
      return false;
    }
    if (row.waitingOn === "resolution") {
      for (const callId of await this.#unknownCalls()) {
        const outcome = this.#world.happened(callId) ? "done" : "absent";
        const item: NewItem = { type: "Resolve", callId, outcome, verification: "looked" };
        await this.#post(item, `resolve ${String(look)} ${callId}`);
      }
      return false;
    }
    if (row.waitingOn === "answer") {
      for (const question of (await this.#questions()).open) await this.#answer(question, `answer ${String(look)}`);
      return false;
    }
    if (row.waitingOn === "input" || row.outcome === "completed" || row.outcome === "cancelled") return true;
    await this.#post({ type: "Resume" }, `resume ${String(look)}`);
    return false;
  }
}

const meet = (
  result: Pick<ScenarioResult, "trace" | "log">,
  people: People,
  snapshots: number,
  claimedAgain: number,
): Map<string, number> => {
  const met = new Map<string, number>();
  const count = (name: string, times = 1): void => {
    met.set(name, (met.get(name) ?? 0) + times);
  };
  for (const { port, fault } of result.trace) if (fault !== null) count(`${port} ${fault}`);
  const marks = {
    unknown: /core\/action_unknown/g,
    settled: /core\/action_settled/g,
    interrupted: /core\/interrupted/g,
    question: /core\/call_parked/g,
    request: /core\/approval_requested/g,
    "request expired": /decision: expired/g,
    "auto-approved": /auto: true/g,
    "asked again": /requestId: ask_c\d+_\d+_\d/g,
    "plan update": /plan\/plan /g,
    "another leg": /plan\/shown +\{turn: \d+, leg: (?!1,)\d+, begins: true/g,
  };
  for (const [name, mark] of Object.entries(marks)) count(name, [...result.log.matchAll(mark)].length);
  for (const [name, times] of people.around.met) count(name, times);
  count("answer at once", people.answersAtOnce);
  count("stale answer", people.staleAnswers);
  for (const [name, times] of people.approver.met) count(name, times);
  count("redaction", people.gone.length);
  count("snapshot", snapshots);
  count("claimed again", claimedAgain);
  return met;
};

const traceHash = (result: Pick<ScenarioResult, "trace" | "log">): string => {
  const calls = result.trace.map(({ actor, port, fault }) => `${actor} ${port} ${fault ?? ""}`);
  return toHex(nodeHasher.sha256(calls.join("\n"), result.log)).slice(0, 16);
};

/** The plan of a seed. It has a chance of its own, so that what is drawn while running does not change it. */
export const planOf = (seed: number): SeedPlan =>
  withPeople(
    seed,
    withApprovals(
      seed,
      withPlugins(seed, createPlan(createChance(seed ^ 0x5eed)), createChance(seed ^ 0xa5c)),
      createChance(seed ^ 0xdec1de),
    ),
    createChance(seed ^ 0xb0b),
  );

/** Runs one seed to its end and judges it. */
export const runSeed = async (seed: number, leave: Leave = leaveNothing): Promise<SeedResult> => {
  const whole = planOf(seed);
  const plan = { ...whole, deeds: whole.deeds.filter((_, index) => !leave.deeds.has(index)) };
  const running: Process[] = [];
  const system = new SimulatedSystem({
    seed,
    plan: faultPlan(plan, createChance(seed ^ 0xfa17), leave),
    limits: { snapshotEvery: plan.snapshotEvery },
    onCrash: () => {
      void system.scheduler.sleep(system.person, RESTART_MS).then(() => running.push(system.start(world)));
    },
  });
  const { scheduler, store } = system;
  const world = new World(system, plan.script, plan.onInterrupt, plan.approvals !== undefined);
  const kill = (): void => {
    const victim = running[system.chance.below(Math.max(1, running.length))];
    if (victim !== undefined) scheduler.crash(victim.actor);
  };
  const people = new People(system, world, plan, kill);
  const { name: agent, settings } = world.agentSettings;
  const { expiryMs = null } = plan.approvals ?? {};
  const config = { ...settings, ...(expiryMs === null ? {} : { approvalExpiryMs: expiryMs }) };
  const { objective, onInterrupt, mode } = plan;
  await system.create(TASK, { agent, config, objective, onInterrupt, mode });
  for (let process = 0; process < plan.processes; process += 1) running.push(system.start(world));
  const living = people.live();
  living.catch((error: unknown) => system.notes.push(`the people: ${String(error)}`));
  await scheduler.run(() => people.done, 60_000);
  const faults = people.done ? [] : ["the task did not come to rest"];
  const { effects, sent, idempotent } = world;
  const { gone, approver } = people;
  const accepted = [...people.accepted, ...approver.accepted];
  faults.push(...approver.faults);
  const evidence = { store, taskId: TASK, reducers: world.reducers, effects, sent, accepted, idempotent, gone };
  faults.push(...people.around.faults, ...(await judge(evidence)));
  const result = { faults, trace: scheduler.trace, log: await system.print(TASK), notes: system.notes };
  const snapshots = result.trace.filter(({ port }) => port === "store.putSnapshot").length;
  const row = await store.getTask({ taskId: TASK });
  const met = meet(result, people, snapshots, Math.max(0, (row?.fence ?? 1) - 1));
  scheduler.close();
  return { ...result, seed, traceHash: traceHash(result), met };
};
