// Decisions and showings: judged and kept with the post that brings them.
import type { NewItem } from "../../core/items.ts";
import { firstShowing, mayDecide, refusalOf, refused, type Asked, type Deciding } from "../decisions.ts";
import { StoreError, type Decided, type PostReceipt, type Showing, type Store } from "../store.ts";
import { findTask, nowOf, type State, type StoredTask } from "./state.ts";

const askedOf = (task: StoredTask, requestId: string): Asked => {
  const row = task.rows.get("approvals")?.get(requestId);
  if (row === undefined) throw refused(task.taskId, requestId, "not_asked", null);
  const expiresAt = row.get("expiresAt") ?? null;
  return {
    status: String(row.get("status")),
    decides: String(row.get("decides")),
    inputHash: String(row.get("inputHash")),
    expiresAt: expiresAt === null ? null : Number(expiresAt),
  };
};

/** The receipt of one that comes second; null for the first. Codes: `conflict` (DecisionRefused). */
export const judge = (
  state: State,
  task: StoredTask,
  { by, item }: { readonly by: string; readonly item: NewItem & Deciding },
): PostReceipt | null => {
  const { taskId } = task;
  const { requestId, showing } = item;
  const asked = askedOf(task, requestId);
  const isCollaborator = task.rows.get("collaborators")?.has(by) === true;
  if (!mayDecide(asked, { by, owner: task.columns.owner, isCollaborator })) {
    throw refused(taskId, requestId, "not_yours", asked.status);
  }
  const decided = task.decided.get(requestId);
  if (decided !== undefined) return { taskId, seq: decided.seq, duplicate: true, decided: { ...decided } };
  const isShown = [...(task.showings.get(requestId)?.values() ?? [])].includes(showing);
  const refusal = refusalOf(asked, item, { now: nowOf(state), isShown });
  if (refusal !== null) throw refused(taskId, requestId, refusal, asked.status);
  return null;
};

export const keep = (task: StoredTask, decided: Decided): void => {
  task.decided.set(decided.requestId, decided);
};

export const showApproval = (state: State, params: Parameters<Store["showApproval"]>[0]): number => {
  const { taskId, requestId, frontEnd } = params;
  const task = findTask(state, taskId);
  if (task.ended) throw new StoreError("ended", `task ${taskId} has ended and takes nothing more`);
  const { status } = askedOf(task, requestId);
  if (status !== "pending") throw refused(taskId, requestId, "settled", status);
  const shown = task.showings.get(requestId) ?? new Map<string, number>();
  const showing = Math.max(firstShowing(state.epoch), ...[...shown.values()].map((other) => other + 1));
  task.showings.set(requestId, shown.set(frontEnd, showing));
  return showing;
};

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const readDecisions = (state: State, taskId: string): Awaited<ReturnType<Store["readDecisions"]>> => {
  const task = state.tasks.get(taskId);
  if (task === undefined) return { showings: [], decided: [] };
  const showings = [...task.showings].flatMap(([requestId, shown]) =>
    [...shown].map(([frontEnd, showing]): Showing => ({ requestId, frontEnd, showing })),
  );
  return {
    showings: showings.sort((a, b) => byText(a.requestId, b.requestId) || byText(a.frontEnd, b.frontEnd)),
    decided: [...task.decided.values()].map((each) => ({ ...each })).sort((a, b) => byText(a.requestId, b.requestId)),
  };
};
