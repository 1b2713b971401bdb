// A task whole, out of one store and into another: a bundle is a backup of one task, and an import is its restore.
import { checkLog } from "../core/check-log.ts";
import { sealEvents, toHex } from "../core/envelope.ts";
import type { Event, Recorded } from "../core/events.ts";
import type { Settings } from "../core/items.ts";
import { columnsOf } from "../core/project.ts";
import { RECORD_VERSION } from "../core/records.ts";
import { StoreError, type Bundle } from "../store/store.ts";
import type { DatedBundle } from "./bundle-file.ts";
import { rebuild } from "./check-task.ts";
import { ClientError, type Client } from "./client.ts";
import { findTask } from "./find-task.ts";
import { eventsOf, readEvents } from "./read-log.ts";
import { refusalOf } from "./refusal.ts";

const folded = (taskId: string, entries: Bundle["entries"]): ReturnType<typeof rebuild> => {
  try {
    return rebuild(taskId, entries);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ClientError("unreadable", `the log of task ${taskId} cannot be read here: ${why}`, { cause });
  }
};

const refuse = (taskId: string, why: string): never => {
  throw new ClientError("refused", `task ${taskId} ${why}`);
};

/** A task that stands by itself: nothing in another log belongs to it. */
const requireAlone = (taskId: string, { state }: ReturnType<typeof rebuild>): void => {
  const { parent, historyFrom, children } = state;
  if (parent !== undefined) refuse(taskId, `is a child of ${parent.taskId}: it cannot be exported without it`);
  if (historyFrom !== undefined) refuse(taskId, `is a fork of ${historyFrom.taskId}: it cannot be exported without it`);
  const open = Object.keys(children);
  if (open.length > 0) refuse(taskId, `cannot be exported while a child of it lives: ${open.join(", ")}`);
};

export interface ExportedBundle extends DatedBundle {
  /** Items that nobody has taken yet: they are not in the bundle. */
  readonly untaken: number;
}

/**
 * The task as it stands. `move`: it must be one that can be closed now, with an empty inbox. Codes: `not_found`,
 * `ambiguous`, `refused`, `unreadable`.
 */
export const exportBundle = async (
  client: Client,
  idOrPrefix: string,
  { move = false }: { readonly move?: boolean } = {},
): Promise<ExportedBundle> => {
  const { taskId } = await findTask(client, idOrPrefix);
  const bundle = await client.store.exportTask({ taskId });
  const { inboxSeq, inboxTaken } = bundle.row;
  const untaken = inboxSeq - inboxTaken;
  const log = folded(taskId, bundle.entries);
  requireAlone(taskId, log);
  if (move) {
    const refusal = refusalOf(log.state, eventsOf(taskId, bundle.entries), { type: "Close" });
    if (refusal !== null) refuse(taskId, refusal);
    if (untaken > 0)
      refuse(taskId, `has ${String(untaken)} in its inbox that nobody has taken: let it be worked first`);
  }
  return { bundle, exportedAt: await client.store.now(), untaken };
};

const isClosing = ({ event }: Recorded): boolean =>
  event.type === "TaskEnded" || (event.type === "InputTaken" && event.items.every((item) => item.type === "Close"));

/** The task has closed, and its bundle has all that it did before. */
export const hasMoved = async (client: Client, { bundle }: DatedBundle): Promise<boolean> => {
  const { lastSeq } = bundle.row;
  const { taskId } = await findTask(client, bundle.row.taskId);
  const after = await readEvents(client.store, { taskId, after: lastSeq });
  return after.at(-1)?.event.type === "TaskEnded" && after.every(isClosing);
};

export interface ImportParams extends DatedBundle {
  /** A head that the log must have, in hex: as it was told when the bundle was made. */
  readonly expect?: string;
  /** Where its tools work from now on. */
  readonly workspace?: NonNullable<Settings["workspace"]>;
}

export interface ImportReceipt {
  readonly taskId: string;
  /** Its id where it came from. */
  readonly from: string;
  readonly lastSeq: number;
  readonly head: string;
}

/** Its owner's alone, in the place where it lives: the log says who and where. */
const requireTheirs = ({ principal, place }: Client, taskId: string, { state }: ReturnType<typeof rebuild>): void => {
  const { owner, origin } = state;
  if (owner === principal && origin.place === place) return;
  refuse(taskId, `belongs to ${owner} in ${origin.place}: ${principal} in ${place} cannot import it`);
};

/** The bundle with one event more. */
const withWorkspace = (client: Client, bundle: Bundle, workspace: ImportParams["workspace"], now: number): Bundle => {
  const last = bundle.entries.at(-1);
  if (workspace === undefined || last === undefined) return bundle;
  const data = { settings: { workspace }, by: client.principal };
  const event: Event = { type: "ExtensionRecorded", extension: "core", kind: "config", v: RECORD_VERSION, data };
  const [sealed] = sealEvents(client.hasher, last, [event], () => client.random.salt());
  if (sealed === undefined) throw new Error("one event was sealed");
  const row = { ...bundle.row, lastSeq: sealed.seq, head: toHex(sealed.chain) };
  return { ...bundle, row, entries: [...bundle.entries, { ...sealed, at: Math.max(now, last.at) }] };
};

/** Nothing of a log is looked at before it is known to be one. Codes: `damaged`. */
const requireWhole = ({ hasher }: Client, { bundle, expect }: ImportParams): void => {
  const { row, entries, redactions } = bundle;
  const log = { taskId: row.taskId, entries, redactions, row, hasher };
  const [finding] = checkLog({ ...log, ...(expect === undefined ? {} : { expect }) });
  if (finding === undefined) return;
  const where = finding.seq === null ? "" : `event ${String(finding.seq)}: `;
  throw new StoreError("damaged", `the bundle of task ${row.taskId} is not what was exported: ${where}${finding.what}`);
};

/**
 * Takes a bundle in as a task under a new id. It goes on with nothing by itself: what may have gone on where it came from
 * pauses, and its person is told. Codes: `refused` (another's, or not alone), `unreadable`, `damaged`.
 */
export const importBundle = async (client: Client, params: ImportParams): Promise<ImportReceipt> => {
  const { store, random } = client;
  const { taskId: from } = params.bundle.row;
  requireWhole(client, params);
  const given = folded(from, params.bundle.entries);
  requireAlone(from, given);
  requireTheirs(client, from, given);
  const ended = given.state.ended !== undefined;
  const bundle = withWorkspace(client, params.bundle, ended ? undefined : params.workspace, await store.now());
  const taskId = random.id();
  const { state, rows } = folded(taskId, bundle.entries);
  const { exportedAt: bundleAt } = params;
  await store.importTask({ taskId, bundle, secret: random.secret(), columns: columnsOf(state), rows, bundleAt });
  return { taskId, from, lastSeq: bundle.row.lastSeq, head: bundle.row.head };
};
