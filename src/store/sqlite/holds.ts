// Holds: builds that set a task aside, or leave it alone for a while, each of which backs off on its own.
import type { ReleaseParams } from "../store.ts";
import type { Connection } from "./connection.ts";

/** How often a build held the task since a holder last parked or stopped it. */
export const holdsOf = (connection: Connection, task: number, build: string): number =>
  connection.get<{ count: number }>("SELECT count FROM holds WHERE task = ? AND build = ?", task, build)?.count ?? 0;

/** Whether a build has to leave the task alone for now. */
export const isHeld = (connection: Connection, task: number, build: string, now: number): boolean =>
  connection.get("SELECT 1 FROM holds WHERE task = ? AND build = ? AND until > ?", task, build, now) !== undefined;

export const hold = (
  connection: Connection,
  task: number,
  { build, reason, retryAfterMs }: Extract<ReleaseParams, { kind: "held" }>,
  now: number,
): void => {
  // Replaced and not updated, so that the newest hold has the greatest number.
  connection.run(
    "INSERT OR REPLACE INTO holds (task, build, reason, at, count, until) VALUES (?, ?, ?, ?, ?, ?)",
    ...[task, build, reason, now, holdsOf(connection, task, build) + 1, now + retryAfterMs],
  );
};

/** Keeps a build away for a while, without a hold: its count stays, and where it is 0 the row shows none. */
export const backOff = (connection: Connection, task: number, build: string, now: number, backOffMs: number): void => {
  connection.run(
    `INSERT INTO holds (task, build, reason, at, count, until) VALUES (:task, :build, '', :now, 0, :until)
     ON CONFLICT (task, build) DO UPDATE SET until = :until`,
    { task, build, now, until: now + backOffMs },
  );
};

export const dropHolds = (connection: Connection, task: number): void => {
  connection.run("DELETE FROM holds WHERE task = ?", task);
};
