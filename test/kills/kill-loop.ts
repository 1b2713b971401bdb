// The kill loop: worker processes on one store (three on one database file unless told), each killed and started again until there were enough kills,
// while a person keeps tasks in flight. Half of the kills come at a random moment after a claim, half at a named point.
import { readEvents } from "../../src/client/read-log.ts";
import { printLog } from "../../src/core/print.ts";
import { createChance, type Chance } from "../../src/testing/simulation/chance.ts";
import { temporaryFolder } from "../sqlite/log-writer.ts";
import { noPoints, prepareCountingAgent } from "./counting-agent.ts";
import { judgeAll, type Figures } from "./judgement.ts";
import { openStore } from "./open-store.ts";
import { Person } from "./person.ts";
import { pointNames, type PointName } from "./points.ts";
import { WorkerHandle, type Order } from "./worker-handle.ts";

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  /** A database of Postgres; a file otherwise. */
  readonly url?: string;
  /** How many workers there are at a time, and how many tasks are in flight. */
  readonly processes?: number;
  readonly tasks?: number;
  /** No process is started to be killed after this time, however few were (ms). */
  readonly withinMs?: number;
}

export interface KillResult {
  readonly faults: readonly string[];
  readonly figures: Figures;
  readonly kills: number;
  readonly byPoint: Readonly<Record<PointName | "random", number>>;
  /** Claims of tasks that the holder before had not given back. */
  readonly takeovers: number;
  /** Claims that began with a snapshot. */
  readonly fromSnapshot: number;
}

const LEASE_MS = 500;
/** A random kill comes this long after a claim at most. */
const KILL_WITHIN_MS = 60;
/** A point that a process does not come by in this time, once it works, is given up for a kill at once. */
const PATIENCE_MS = 1_500;

const after = (ms: number, act: () => void): (() => void) => {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
};

class Loop {
  readonly byPoint = Object.fromEntries([...pointNames, "random"].map((name) => [name, 0])) as Record<
    PointName | "random",
    number
  >;
  kills = 0;
  takeovers = 0;
  fromSnapshot = 0;
  readonly faults: string[] = [];
  readonly #folder: string;
  readonly #chance: Chance;
  readonly #processes: number;
  readonly #order: Order;
  readonly #until: number;
  #begun = 0;

  constructor(folder: string, chance: Chance, { url, processes, withinMs }: KillOptions & { processes: number }) {
    this.#folder = folder;
    this.#chance = chance;
    this.#processes = processes;
    this.#order = { leaseMs: LEASE_MS, url };
    this.#until = performance.now() + (withinMs ?? Infinity);
  }

  #orderToDie(): Order {
    const chance = this.#chance;
    if (chance.below(2) === 0) return this.#order;
    const point = pointNames[chance.below(pointNames.length)] ?? "after claim";
    const often = point.endsWith("append") ? 12 : point === "before verify" ? 1 : 3;
    return { ...this.#order, at: { point, n: 1 + chance.below(often), signal: "SIGKILL" } };
  }

  #count(worker: WorkerHandle): void {
    for (const { claimed } of worker.told) {
      if (claimed === undefined) continue;
      if (claimed.attempts > 1) this.takeovers += 1;
      if (claimed.snapshot !== null) this.fromSnapshot += 1;
    }
  }

  /** Starts a process and sees it killed. */
  async #life(): Promise<void> {
    const order = this.#orderToDie();
    const worker = new WorkerHandle(this.#folder, order);
    const kill = (): void => worker.signal("SIGKILL");
    let callOff = (): void => undefined;
    const killAfter = (ms: number) => (): void => {
      callOff();
      callOff = after(ms, kill);
    };
    const over = (): void => undefined;
    void worker.until((told) => told.ready === true).then(killAfter(PATIENCE_MS), over);
    if (order.at === undefined) {
      const claims = 1 + this.#chance.below(3);
      const claimed = (): boolean => worker.told.filter((told) => told.claimed !== undefined).length >= claims;
      void worker.until(claimed).then(killAfter(this.#chance.below(KILL_WITHIN_MS)), over);
    }
    const exit = await worker.exited;
    callOff();
    this.#count(worker);
    if (exit.signal !== "SIGKILL") throw new Error(`a worker ended by itself: ${JSON.stringify(exit)}`);
    const met = worker.told.find((told) => told.met !== undefined)?.met;
    this.byPoint[met ?? "random"] += 1;
    this.kills += 1;
  }

  /** In as many places as there are workers at a time, processes come and go. */
  async killAll(kills: number): Promise<void> {
    const place = async (): Promise<void> => {
      while (this.#begun < kills && performance.now() < this.#until) {
        this.#begun += 1;
        await this.#life();
      }
    };
    await Promise.all(Array.from({ length: this.#processes }, place));
  }

  /** With workers that nobody kills, until the person is done. */
  async calm(done: Promise<void>): Promise<void> {
    const workers = Array.from({ length: this.#processes }, () => new WorkerHandle(this.#folder, this.#order));
    await Promise.all(workers.map((worker) => worker.until((told) => told.ready === true)));
    await done;
    for (const exit of await Promise.all(workers.map((worker) => worker.stop()))) {
      if (exit.code !== 0) this.faults.push(`a worker that was told to stop ended so: ${JSON.stringify(exit)}`);
    }
    for (const worker of workers) this.#count(worker);
  }
}

/** Runs the loop whole: kills, a calm end, the judgement. */
export const runKillLoop = async (options: KillOptions): Promise<KillResult> => {
  const { kills, seed, url, processes = 3, tasks = 8 } = options;
  using folder = temporaryFolder();
  const chance = createChance(seed);
  const effects = folder.path("effects");
  const store = await openStore({ folder: folder.path("."), url });
  try {
    const person = new Person({ store, effects, chance, tasks, turns: 3 });
    const loop = new Loop(folder.path("."), chance, { ...options, processes });
    const tending = person.tend();
    // Its failure is met below, or right away where a place fails first.
    tending.catch(() => undefined);
    await loop.killAll(kills);
    person.goHome();
    await loop.calm(tending);
    const { reducers } = await prepareCountingAgent(effects, noPoints);
    const { faults, figures } = await judgeAll({ store, reducers, effects, accepted: person.accepted });
    // What was wrong with a task is seen in its log, and that is gone with the folder.
    const [suspect = ""] = faults[0]?.split(":") ?? [];
    if (person.accepted.has(suspect)) console.error(printLog(await readEvents(store, { taskId: suspect })));
    const { byPoint, takeovers, fromSnapshot } = loop;
    return { faults: [...loop.faults, ...faults], figures, kills: loop.kills, byPoint, takeovers, fromSnapshot };
  } finally {
    await store.close();
  }
};

/** One line for a person. */
export const toldOf = ({ kills, byPoint, takeovers, fromSnapshot, figures }: KillResult): string => {
  const { random, ...named } = byPoint;
  const points = Object.entries(named).map(([name, times]) => `${name} ${String(times)}`);
  return (
    `kills ${String(kills)} (random ${String(random)}, ${points.join(", ")}); takeovers ${String(takeovers)}; ` +
    `claims from a snapshot ${String(fromSnapshot)}; ` +
    Object.entries(figures)
      .map(([name, value]) => `${name} ${String(value)}`)
      .join(", ")
  );
};
