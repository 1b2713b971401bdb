// Requests for a decision: those that wait, as the person who decides is to see them, and the decision itself. Open to whom a
// request names, the task's owner or another.
import { isPending } from "../core/approval.ts";
import type { EventOf, Recorded } from "../core/events.ts";
import { fold } from "../core/fold.ts";
import type { CoreRecord } from "../core/records.ts";
import type { Call, TaskState } from "../core/state.ts";
import type { Decided, Store, TaskRow } from "../store/store.ts";
import { ClientError, type Client } from "./client.ts";
import { findTask } from "./find-task.ts";
import { readEvents } from "./read-log.ts";

/** A request that waits for a decision. */
export interface ApprovalView {
  readonly request: string;
  /** The call that would run, by its id; its tool, and what that changes. */
  readonly call: string;
  readonly name: string;
  readonly effect: string;
  /** Exactly as it would run. Null where it was redacted: then nothing can run. */
  readonly input: unknown;
  readonly redacted: boolean;
  /** Of a batch, each thing that it would do. */
  readonly items: readonly string[];
  readonly reason: string | null;
  readonly inputHash: string;
  readonly decides: string;
  readonly expiresAt: number | null;
  readonly requestedSeq: number;
  /** The newest controls that this front end put up; 0 for none. */
  readonly showing: number;
  /** Posted, and not taken by a worker yet. */
  readonly decided: Decided | null;
}

type Kept = Awaited<ReturnType<Store["readDecisions"]>>;
type Requested = { readonly seq: number; readonly event: EventOf<"ExtensionRecorded"> };

const requestedAt = (events: readonly Recorded[], requestId: string): Requested | undefined => {
  const found = events.findLast(
    ({ event }) =>
      event.type === "ExtensionRecorded" &&
      event.extension === "core" &&
      event.kind === "approval_requested" &&
      (event.data as CoreRecord<"approval_requested">).requestId === requestId,
  );
  return found as Requested | undefined;
};

const viewOf = (
  state: TaskState,
  call: Call,
  { seq, event }: Requested,
  kept: Kept,
  frontEnd: string,
): ApprovalView => {
  const { requestId, inputHash, decides, expiresAt, input, items, reason } =
    event.data as CoreRecord<"approval_requested">;
  const redacted = event.redacted === true || call.redacted === true;
  const shown = kept.showings.find((each) => each.requestId === requestId && each.frontEnd === frontEnd);
  return {
    request: requestId,
    call: call.id,
    name: call.name,
    effect: state.tools.find((tool) => tool.name === call.name)?.effect ?? "unknown",
    input: redacted ? null : (input ?? call.input),
    redacted,
    items: items ?? [],
    reason: reason ?? null,
    inputHash,
    decides,
    expiresAt: expiresAt ?? null,
    requestedSeq: seq,
    showing: shown?.showing ?? 0,
    decided: kept.decided.find((each) => each.requestId === requestId) ?? null,
  };
};

/** In the order of their calls. `frontEnd`: whose showings. */
export const pendingApprovals = (
  events: readonly Recorded[],
  state: TaskState,
  kept: Kept = { showings: [], decided: [] },
  frontEnd = "",
): ApprovalView[] =>
  state.calls.filter(isPending).flatMap((call) => {
    const requested = requestedAt(events, call.approval?.requestId ?? "");
    return requested === undefined ? [] : [viewOf(state, call, requested, kept, frontEnd)];
  });

/** The task, for its owner, or for another whom one of its requests names, in its place. Codes: those of `findTask`. */
const findDecidable = async (client: Client, idOrPrefix: string): Promise<TaskRow> => {
  const { store, principal, place } = client;
  const row = await store.getTask({ taskId: idOrPrefix });
  if (row === null || row.owner === principal || row.origin.place !== place) return findTask(client, idOrPrefix);
  const rows = await store.readRows({ taskId: idOrPrefix, table: "approvals" });
  return rows.some(({ set }) => set?.["decides"] === principal) ? row : findTask(client, idOrPrefix);
};

/** For the owner all of it, for another what they decide. */
const approvalsOf = async (
  { store, frontEnd, principal }: Client,
  { taskId, owner }: TaskRow,
): Promise<ApprovalView[]> => {
  const events = await readEvents(store, { taskId });
  const views = pendingApprovals(events, fold(taskId, events, {}), await store.readDecisions({ taskId }), frontEnd);
  return owner === principal ? views : views.filter(({ decides }) => decides === principal);
};

/** What waits for a decision: for the owner all of it, for another what they decide. Codes: `not_found`, `ambiguous`. */
export const listApprovals = async (client: Client, idOrPrefix: string): Promise<ApprovalView[]> =>
  approvalsOf(client, await findDecidable(client, idOrPrefix));

/** Puts up new controls: older ones of this front end (or of `frontEnd`) are refused from now on. */
export const showApproval = async (
  client: Client,
  { taskId: named, request, frontEnd = client.frontEnd }: { taskId: string; request: string; frontEnd?: string },
): Promise<number> => {
  const { taskId } = await findDecidable(client, named);
  return client.store.showApproval({ taskId, requestId: request, frontEnd });
};

export interface DecisionParams {
  readonly taskId: string;
  /** A request's id, or that of its call. May be left out where one waits. */
  readonly request?: string;
  readonly decision: "approve" | "deny";
  /** The call runs with it instead. */
  readonly input?: unknown;
  /** For the model, of a denial. */
  readonly reason?: string;
  /** The hash that was shown with the request; default the request's own. */
  readonly inputHash?: string;
  /** The control that was used; default none. */
  readonly showing?: number;
  readonly key?: string;
}

export interface DecisionReceipt {
  readonly taskId: string;
  readonly request: string;
  /** This one is the decision; otherwise another came first, and what follows is that one's. */
  readonly counts: boolean;
  readonly decision: "approve" | "deny";
  readonly by: string;
  /** Of the item that decides. */
  readonly seq: number;
}

const requestNamed = (taskId: string, views: readonly ApprovalView[], named: string | undefined): string => {
  if (named !== undefined) return views.find(({ call }) => call === named)?.request ?? named;
  const [only, ...more] = views;
  if (only === undefined) throw new ClientError("refused", `task ${taskId} waits for no decision`);
  if (more.length === 0) return only.request;
  const names = views.map(({ request, name }) => `${request} (${name})`).join(", ");
  throw new ClientError("refused", `task ${taskId} waits for several decisions, so say on which: ${names}`);
};

/**
 * Decides. Acknowledged means committed. Codes: `not_found`, `ambiguous`, `refused` (which request is meant is not clear), and
 * those of the store's `post`, DecisionRefused among them.
 */
export const decideApproval = async (client: Client, params: DecisionParams): Promise<DecisionReceipt> => {
  const { store, principal, random } = client;
  const { decision, input, reason, showing = 0, key = random.id() } = params;
  const row = await findDecidable(client, params.taskId);
  const { taskId } = row;
  if (row.status === "ended") throw new ClientError("refused", `task ${taskId} has ended: it takes nothing more`);
  const requestId = requestNamed(taskId, await approvalsOf(client, row), params.request);
  const rows = await store.readRows({ taskId, table: "approvals" });
  const own = rows.find((row) => row.key === requestId)?.set?.["inputHash"];
  const inputHash = params.inputHash ?? (typeof own === "string" ? own : "");
  const item = {
    ...({ type: "Decide", requestId, inputHash, showing, decision } as const),
    ...(input === undefined ? {} : { input }),
    ...(reason === undefined ? {} : { reason }),
  };
  const { seq, decided } = await store.post({ taskId, by: principal, key, item, place: client.place });
  const receipt = { taskId, request: requestId, seq };
  if (decided === undefined) return { ...receipt, counts: true, decision, by: principal };
  return { ...receipt, counts: false, decision: decided.decision, by: decided.by };
};
