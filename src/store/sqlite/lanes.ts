// Lanes: the few different sets of a queue and requirements. A claim looks at lanes, not at tasks it could not serve.
import type { Serving } from "../store.ts";
import type { Connection } from "./connection.ts";

interface Lane {
  readonly queue: string;
  /** Sorted, as JSON. */
  readonly requires: string;
}

const laneRow = (connection: Connection, lane: number): Lane => {
  const row = connection.get<Lane>("SELECT queue, requires FROM lanes WHERE lane = ?", lane);
  if (row === undefined) throw new Error(`${connection.name}: there is no lane ${String(lane)}`);
  return row;
};

/** The lane of what is given, and for the rest that of `before`. Made when it is new. */
export const laneOf = (
  connection: Connection,
  before: number | null,
  change: { readonly queue: string | undefined; readonly requires: readonly string[] | undefined },
): number => {
  const rest = before === null ? { queue: "default", requires: "[]" } : laneRow(connection, before);
  const queue = change.queue ?? rest.queue;
  const requires = change.requires === undefined ? rest.requires : JSON.stringify(change.requires);
  const find = "SELECT lane FROM lanes WHERE queue = ? AND requires = ?";
  const known = connection.get<{ lane: number }>(find, queue, requires);
  return known?.lane ?? connection.insert("INSERT INTO lanes (queue, requires) VALUES (?, ?)", queue, requires);
};

/** Whether a worker serves a lane: its queue, and all that it requires. */
export const serves = (connection: Connection, lane: number, params: Serving): boolean => {
  const { queue, requires } = laneRow(connection, lane);
  if (params.queues !== undefined && !params.queues.includes(queue)) return false;
  return (JSON.parse(requires) as string[]).every((need) => params.offers.includes(need));
};
