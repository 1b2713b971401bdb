// The slots for model calls of one process: how many at once, and how many of them for one principal.

export interface SlotLimits {
  /** Model calls at once, in this process. */
  readonly concurrency: number;
  /** Of these, for one principal at the most. */
  readonly perPrincipal: number;
}

interface Waiting {
  readonly principal: string;
  readonly take: () => void;
}

/** Gives slots in the order in which they were asked for, passing over principals that have all of theirs. */
export class ModelQueue {
  readonly #limits: SlotLimits;
  readonly #held = new Map<string, number>();
  #total = 0;
  readonly #waiting: Waiting[] = [];
  #waited = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** Calls with a slot, calls that wait for one, and how many had to wait so far. */
  load(): { readonly limit: number; readonly taken: number; readonly waiting: number; readonly waited: number } {
    return {
      limit: this.#limits.concurrency,
      taken: this.#total,
      waiting: this.#waiting.length,
      waited: this.#waited,
    };
  }

  /** A slot at once, or null. The slot is what gives it back; giving it back twice changes nothing. */
  tryAcquire(principal: string): (() => void) | null {
    const held = this.#held.get(principal) ?? 0;
    if (this.#total >= this.#limits.concurrency || held >= this.#limits.perPrincipal) return null;
    this.#total += 1;
    this.#held.set(principal, held + 1);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#release(principal);
    };
  }

  /** Waits for a slot. Aborting removes the call from the queue and rejects with the signal's reason. */
  acquire(principal: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const free = this.tryAcquire(principal);
    if (free !== null) return Promise.resolve(free);
    return new Promise((resolve, reject) => {
      const entry: Waiting = {
        principal,
        take: () => {
          signal.removeEventListener("abort", leave);
          const slot = this.tryAcquire(principal);
          if (slot !== null) resolve(slot);
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

  #release(principal: string): void {
    this.#total -= 1;
    const held = (this.#held.get(principal) ?? 1) - 1;
    if (held === 0) this.#held.delete(principal);
    else this.#held.set(principal, held);
    const next = this.#waiting.findIndex((entry) => (this.#held.get(entry.principal) ?? 0) < this.#limits.perPrincipal);
    if (next >= 0) this.#waiting.splice(next, 1)[0]?.take();
  }
}
