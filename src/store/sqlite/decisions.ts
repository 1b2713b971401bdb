// Decisions and showings: judged and kept in the transaction of the post that brings them.
import type { NewItem } from "../../core/items.ts";
import { firstShowing, mayDecide, refusalOf, refused, type Asked, type Deciding } from "../decisions.ts";
import { StoreError, type Decided, type PostReceipt, type Showing, type Store } from "../store.ts";
import type { Connection } from "./connection.ts";
import { epochOf } from "./epochs.ts";
import { findTask, requireTask, type Guarded } from "./tasks.ts";

const askedOf = (connection: Connection, row: Guarded, requestId: string): Asked => {
  const sql = "SELECT status, decides, inputHash, expiresAt FROM approvals WHERE task = ? AND key = ?";
  const asked = connection.get<Asked>(sql, row.task, requestId);
  if (asked === undefined) throw refused(row.id, requestId, "not_asked", null);
  return asked;
};

const DECIDED = "SELECT request AS requestId, decision, by, at, seq FROM decisions WHERE task = ?";

/** The receipt of one that comes second; null for the first. Codes: `conflict` (DecisionRefused). */
export const judge = (
  connection: Connection,
  row: Guarded,
  { by, item }: { readonly by: string; readonly item: NewItem & Deciding },
  now: number,
): PostReceipt | null => {
  const { requestId, showing } = item;
  const asked = askedOf(connection, row, requestId);
  const collaborates = "SELECT 1 FROM collaborators WHERE task = ? AND key = ?";
  const isCollaborator = connection.get(collaborates, row.task, by) !== undefined;
  if (!mayDecide(asked, { by, owner: row.owner, isCollaborator })) {
    throw refused(row.id, requestId, "not_yours", asked.status);
  }
  const decided = connection.get<Decided>(`${DECIDED} AND request = ?`, row.task, requestId);
  if (decided !== undefined) return { taskId: row.id, seq: decided.seq, duplicate: true, decided };
  const shown = "SELECT 1 FROM showings WHERE task = ? AND request = ? AND showing = ?";
  const isShown = connection.get(shown, row.task, requestId, showing) !== undefined;
  const refusal = refusalOf(asked, item, { now, isShown });
  if (refusal !== null) throw refused(row.id, requestId, refusal, asked.status);
  return null;
};

export const keep = (connection: Connection, row: Guarded, decided: Decided): void => {
  const { requestId, decision, by, at, seq } = decided;
  connection.run(
    "INSERT INTO decisions (task, request, decision, by, at, seq) VALUES (?, ?, ?, ?, ?, ?)",
    ...[row.task, requestId, decision, by, at, seq],
  );
};

export const showApproval = (connection: Connection, params: Parameters<Store["showApproval"]>[0]): number => {
  const { taskId, requestId, frontEnd } = params;
  const row = requireTask(connection, taskId);
  if (row.status === "ended") throw new StoreError("ended", `task ${taskId} has ended and takes nothing more`);
  const { status } = askedOf(connection, row, requestId);
  if (status !== "pending") throw refused(taskId, requestId, "settled", status);
  const newest = "SELECT max(showing) AS showing FROM showings WHERE task = ? AND request = ?";
  const before = connection.get<{ showing: number | null }>(newest, row.task, requestId)?.showing ?? 0;
  const showing = Math.max(firstShowing(epochOf(connection)), before + 1);
  connection.run(
    `INSERT INTO showings (task, request, frontEnd, showing) VALUES (?, ?, ?, ?)
     ON CONFLICT (task, request, frontEnd) DO UPDATE SET showing = excluded.showing`,
    ...[row.task, requestId, frontEnd, showing],
  );
  return showing;
};

export const readDecisions = (connection: Connection, taskId: string): Awaited<ReturnType<Store["readDecisions"]>> => {
  const row = findTask(connection, taskId);
  if (row === undefined) return { showings: [], decided: [] };
  const showings =
    "SELECT request AS requestId, frontEnd, showing FROM showings WHERE task = ? ORDER BY request, frontEnd";
  return {
    showings: connection.all<Showing>(showings, row.task),
    decided: connection.all<Decided>(`${DECIDED} ORDER BY request`, row.task),
  };
};
