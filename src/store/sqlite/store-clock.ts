// The store's clock: the wall clock, but for every process and over restarts it never goes back. After a jump back it
// goes on at the pace of the monotonic clock, so that timers and back-offs of seconds still take seconds.
import type { Clock } from "../store.ts";
import type { Connection } from "./connection.ts";

/** How stale the kept time may get: after a restart of the machine with a wrong clock, as much may come again. */
const KEEP_EVERY_MS = 60_000;

/** The monotonic clock of a boot. */
interface Machine {
  readonly monotonic: number;
  readonly boot: string;
}

/** A time that was given out, and when that was on the monotonic clock of a boot. */
interface Mark extends Machine {
  readonly wall: number;
}

export class StoreClock {
  readonly #clock: Clock;
  /** The newest time this process gave out; kept in the database by its next write. */
  #given: Mark = { wall: 0, monotonic: 0, boot: "" };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The monotonic clock and its boot, which leases are measured by. */
  get machine(): Machine {
    return { monotonic: Math.floor(this.#clock.monotonic()), boot: this.#clock.boot };
  }

  /** The store's time (ms), to be called in a transaction. */
  now(connection: Connection): number {
    return this.#read(connection).now;
  }

  /** The store's time, in a transaction that may write: nobody will be given an earlier one. */
  tick(connection: Connection): number {
    const { now, kept, machine } = this.#read(connection);
    const { monotonic, boot } = machine;
    if (now > shownBy(kept, machine) || boot !== kept.boot || monotonic - kept.monotonic > KEEP_EVERY_MS) {
      connection.run("UPDATE place SET wall = ?, monotonic = ?, boot = ?", now, monotonic, boot);
    }
    return now;
  }

  #read(connection: Connection): { now: number; kept: Mark; machine: Machine } {
    const kept = connection.get<Mark>("SELECT wall, monotonic, boot FROM place");
    if (kept === undefined) throw new Error(`${connection.name}: the table "place" has lost its row`);
    const { machine } = this;
    const wall = Math.floor(this.#clock.wall());
    const now = Math.max(wall, shownBy(kept, machine), shownBy(this.#given, machine));
    this.#given = { wall: now, monotonic: machine.monotonic, boot: machine.boot };
    return { now, kept, machine };
  }
}

/** What the clock shows by now if it went on from a mark at the pace of the monotonic clock. */
const shownBy = (mark: Mark, { monotonic, boot }: Machine): number =>
  mark.wall + (mark.boot === boot ? Math.max(0, monotonic - mark.monotonic) : 0);
