// The slots for model calls of one process: how many at once, and how many of them for one principal.

export interface SlotLimits {
  /** Model calls at once, in this process. */
  readonly concurrency: number;
  /** Of these, for one principal at the most. */
  readonly perPrincipal: number;
}

export const defaultSlots: SlotLimits = { concurrency: 4, perPrincipal: 1 };

/** Who asks for a slot, for which task. Nobody waits for what is done in the background. */
export interface SlotRequest {
  readonly principal: string;
  readonly taskId: string;
  readonly background: boolean;
}

export interface QueueLoad {
  readonly limit: number;
  /** Calls with a slot, calls that wait for one, and how many had to wait so far. */
  readonly taken: number;
  readonly waiting: number;
  readonly waited: number;
  /** Those whose calls wait, in the order in which they asked. */
  readonly waitingTasks: readonly string[];
}

interface Waiting {
  readonly request: SlotRequest;
  readonly take: () => void;
}

/**
 * Gives slots to foreground calls first, then to background ones, of either in the order in which they were asked for,
 * passing over principals that have all of theirs.
 */
export class ModelQueue {
  #limits: SlotLimits;
  readonly #held = new Map<string, number>();
  #total = 0;
  readonly #waiting: Waiting[] = [];
  #waited = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  load(): QueueLoad {
    return {
      limit: this.#limits.concurrency,
      taken: this.#total,
      waiting: this.#waiting.length,
      waited: this.#waited,
      waitingTasks: this.#waiting.map(({ request }) => request.taskId),
    };
  }

  /** From now on. Calls that have a slot keep it: with less capacity the next ones wait until enough of them are done. */
  setLimits(limits: SlotLimits): void {
    this.#limits = limits;
    this.#grant();
  }

  /** A slot at once, or null. The slot is what gives it back; giving it back twice changes nothing. */
  tryAcquire({ principal }: SlotRequest): (() => void) | null {
    if (!this.#isFree(principal)) return null;
    this.#total += 1;
    this.#held.set(principal, this.#heldBy(principal) + 1);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#release(principal);
    };
  }

  /** Waits for a slot. Aborting removes the call from the queue and rejects with the signal's reason. */
  acquire(request: SlotRequest, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const free = this.tryAcquire(request);
    if (free !== null) return Promise.resolve(free);
    return new Promise((resolve, reject) => {
      const entry: Waiting = {
        request,
        take: () => {
          signal.removeEventListener("abort", leave);
          const slot = this.tryAcquire(request);
          if (slot === null) throw new Error("a slot that was free is taken");
          resolve(slot);
        },
      };
      const leave = (): void => {
        const index = this.#waiting.indexOf(entry);
        if (index >= 0) this.#waiting.splice(index, 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(entry);
      this.#waited += 1;
    });
  }

  #heldBy(principal: string): number {
    return this.#held.get(principal) ?? 0;
  }

  #isFree(principal: string): boolean {
    return this.#total < this.#limits.concurrency && this.#heldBy(principal) < this.#limits.perPrincipal;
  }

  /** The next that may have a slot; undefined when there is none, or none is free. */
  #next(): Waiting | undefined {
    const free = this.#waiting.filter(({ request }) => this.#isFree(request.principal));
    return free.find(({ request }) => !request.background) ?? free[0];
  }

  #grant(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      next.take();
    }
  }

  #release(principal: string): void {
    this.#total -= 1;
    const held = this.#heldBy(principal) - 1;
    if (held === 0) this.#held.delete(principal);
    else this.#held.set(principal, held);
    this.#grant();
  }
}
