// Virtual time and the order of everything: each port call of each actor waits here until it is picked.
// Nothing runs but what the scheduler picks, so the same choices give the same run.

/** A process that can die: from then on none of its port calls happens and none of its promises resolves. */
export interface Actor {
  readonly name: string;
  alive: boolean;
  /** Stopped until this time, as by SIGSTOP: nothing of it happens before. */
  stalledUntil?: number;
}

/**
 * What happens to one port call.
 *
 * - `crash_before`: the actor dies, nothing happened.
 * - `crash_after`: it happened, the actor dies before it hears of it.
 * - `lose_answer`: it happened, the actor is told that nobody knows.
 * - `fail`: it did not happen, the actor is told that nobody knows.
 * - `delay`: it happens, but only after longer than a lease.
 * - `stall`: it happens, and then the whole process stands still for longer than a lease before it hears of it.
 * - `twice`: it is delivered twice; the actor hears of the second time.
 */
export type Fault = "crash_before" | "crash_after" | "lose_answer" | "fail" | "delay" | "stall" | "twice";

/** The faults that may meet any port call. */
export const faultKinds: readonly Fault[] = ["crash_before", "crash_after", "lose_answer", "fail", "delay"];

/** One port call as it is about to happen: the `n`-th (from 0) of the run. */
export interface PortCall {
  readonly n: number;
  readonly actor: string;
  readonly port: string;
}

/** Decides the fault of a call, if any. */
export type FaultPlan = (call: PortCall) => Fault | null;

/** Picks one of `count` things that could happen next. */
export type Choose = (count: number) => number;

interface Pending {
  readonly actor: Actor;
  readonly run: () => void;
}

interface Sleeper extends Pending {
  readonly at: number;
  readonly order: number;
  /** Listens for its abort no more: a signal that follows others is kept for as long as somebody listens to it. */
  readonly forget: () => void;
}

/** A new one each time: what waits for a promise that never resolves is kept for as long as that promise is. */
const never = (): Promise<never> => new Promise(() => undefined);

/** The error by which a port says that nobody knows what happened. */
export type Unavailable = (port: string) => Error;

export interface SchedulerOptions {
  readonly choose: Choose;
  readonly plan: FaultPlan;
  /** Longer than a lease (ms). */
  readonly delayMs: number;
  readonly unavailable: Unavailable;
  /** Called when an actor dies, so that a successor can be started. */
  readonly onCrash: (actor: Actor) => void;
}

export class Scheduler {
  /** Virtual time (ms). */
  now = 1_000_000;
  /** Port calls that happened or were refused, with their faults. */
  readonly trace: (PortCall & { readonly fault: Fault | null })[] = [];
  readonly #options: SchedulerOptions;
  #ready: Pending[] = [];
  #sleepers: Sleeper[] = [];
  #order = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** A port call of an actor: waits to be picked, then happens, or meets its fault. */
  port<T>(actor: Actor, port: string, act: () => Promise<T> | T): Promise<T> {
    if (!actor.alive) return never();
    return new Promise<T>((resolve, reject) => {
      const run = (): void => {
        const call = { n: this.trace.length, actor: actor.name, port };
        const fault = this.#options.plan(call);
        this.trace.push({ ...call, fault });
        this.#happen(actor, port, fault, act).then(
          (value) => {
            if (actor.alive) resolve(value);
          },
          (error: unknown) => {
            if (actor.alive) reject(error as Error);
          },
        );
      };
      this.#ready.push({ actor, run });
    });
  }

  async #happen<T>(actor: Actor, port: string, fault: Fault | null, act: () => Promise<T> | T): Promise<T> {
    if (fault === "crash_before") this.crash(actor);
    if (!actor.alive) return never();
    if (fault === "fail") throw this.#options.unavailable(port);
    if (fault === "delay") await this.sleep(actor, this.#options.delayMs);
    if (fault === "twice") await act();
    const value = await act();
    if (fault === "crash_after") this.crash(actor);
    if (fault === "stall") await this.#stall(actor);
    if (fault === "lose_answer") throw this.#options.unavailable(port);
    return value;
  }

  #stall(actor: Actor): Promise<void> {
    actor.stalledUntil = this.now + this.#options.delayMs;
    return this.sleep(actor, this.#options.delayMs);
  }

  #isStalled({ stalledUntil = 0 }: Actor): boolean {
    return stalledUntil > this.now;
  }

  crash(actor: Actor): void {
    if (!actor.alive) return;
    actor.alive = false;
    this.#ready = this.#ready.filter((pending) => pending.actor !== actor);
    for (const sleeper of this.#sleepers) if (sleeper.actor === actor) sleeper.forget();
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.actor !== actor);
    this.#options.onCrash(actor);
  }

  /** The run is over: whoever still sleeps is let go. */
  close(): void {
    for (const sleeper of this.#sleepers) sleeper.forget();
    this.#sleepers = [];
    this.#ready = [];
  }

  /** Resolves after `ms` of virtual time. */
  sleep(actor: Actor, ms: number, signal?: AbortSignal): Promise<void> {
    if (!actor.alive) return never();
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = (): void => {
        this.#sleepers = this.#sleepers.filter((candidate) => candidate !== sleeper);
        reject(signal?.reason as Error);
      };
      const forget = (): void => signal?.removeEventListener("abort", onAbort);
      const run = (): void => {
        forget();
        resolve();
      };
      const sleeper: Sleeper = { actor, run, at: this.now + Math.max(0, ms), order: this.#order, forget };
      this.#order += 1;
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#sleepers.push(sleeper);
    });
  }

  /** Something that happens by itself when it is picked, such as a hint that reaches an actor. */
  later(actor: Actor, run: () => void): void {
    if (actor.alive) this.#ready.push({ actor, run });
  }

  /** Lets things happen until `done`, or until nothing can. False when `limit` picks were not enough. */
  async run(done: () => boolean, limit = 20_000): Promise<boolean> {
    for (let picks = 0; picks < limit; picks += 1) {
      await drain();
      if (done()) return true;
      const ready = this.#ready.filter((pending) => !this.#isStalled(pending.actor));
      if (ready.length > 0) {
        const next = ready[this.#options.choose(ready.length)];
        this.#ready = this.#ready.filter((pending) => pending !== next);
        next?.run();
      } else if (!this.#wakeNext()) return true;
    }
    return false;
  }

  #wakeNext(): boolean {
    let next: Sleeper | undefined;
    const due = ({ at, actor: { stalledUntil = 0 } }: Sleeper): number => Math.max(at, stalledUntil);
    for (const sleeper of this.#sleepers) {
      const before = next === undefined ? Infinity : due(next);
      if (due(sleeper) < before || (due(sleeper) === before && sleeper.order < (next?.order ?? 0))) next = sleeper;
    }
    if (next === undefined) return false;
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== next);
    this.now = Math.max(this.now, due(next));
    next.run();
    return true;
  }
}

/** Lets every promise that can go on go on: a macrotask comes after all microtasks. */
const drain = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
