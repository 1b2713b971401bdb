// Checks one task whole: its log against its own envelope, and its row and projections against what the log folds to.
import { decodeEvent } from "../core/codec.ts";
import type { Hasher } from "../core/envelope.ts";
import { isEqualJson } from "../core/equal.ts";
import { createState } from "../core/fold.ts";
import { applyAndProject, columnsOf, mergeRows, projections, type Row } from "../core/project.ts";
import type { TaskState } from "../core/state.ts";
import { checkLog } from "../core/check-log.ts";
import { StoreError, type Envelope, type Finding, type Redaction, type Store, type TaskRow } from "../store/store.ts";

/** Reads again this often when the task moves on between the reads. */
const READS = 50;

interface Stored {
  readonly row: TaskRow;
  readonly entries: readonly Envelope[];
  readonly redactions: readonly Redaction[];
  readonly rows: readonly Row[];
}

const readOnce = async (store: Store, row: TaskRow): Promise<Stored> => {
  const { taskId } = row;
  const entries = await store.read({ taskId });
  const redactions = await store.readRedactions({ taskId });
  const rows = await store.readRows({ taskId });
  return { row, entries, redactions, rows };
};

/** Log, redactions, row and projections as of one moment, although a worker may be appending. */
const readTogether = async (store: Store, taskId: string): Promise<Stored> => {
  for (let reads = 0; reads < READS; reads += 1) {
    const before = await store.getTask({ taskId });
    if (before === null) throw new StoreError("not_found", `there is no task ${taskId}`);
    const stored = await readOnce(store, before);
    const after = await store.getTask({ taskId });
    if (after?.lastSeq === before.lastSeq && after.revision === before.revision) return stored;
  }
  throw new StoreError("unavailable", `task ${taskId} is too busy to be checked; check it while it waits`);
};

/** The state of a log, and the projection rows that it gives. Throws CodecError, and for a log that does not fold. */
export const rebuild = (
  taskId: string,
  entries: readonly Envelope[],
): { readonly state: TaskState; readonly rows: readonly Row[] } => {
  const rows: Row[] = [];
  let state: TaskState | undefined;
  for (const { seq, at, type, body } of entries) {
    const recorded = { seq, at, event: decodeEvent(type, body) };
    if (state === undefined) state = createState(taskId, recorded);
    else rows.push(...applyAndProject(state, recorded, {}));
  }
  if (state === undefined) throw new Error("it has no events");
  return { state, rows: mergeRows(rows) };
};

/** Every row with every column, by table and key: what was never set is null. */
const whole = (rows: readonly Row[]): Map<string, Readonly<Record<string, unknown>>> => {
  const kept = rows.flatMap(({ table, key, set }) => {
    if (set === null) return [];
    const columns = Object.keys(projections[table]).map((column) => [column, set[column] ?? null]);
    return [[`${table} ${key}`, Object.fromEntries(columns) as Record<string, unknown>] as const];
  });
  return new Map(kept);
};

const rowFaults = (stored: readonly Row[], rebuilt: readonly Row[]): string[] => {
  const before = whole(stored);
  const after = whole(rebuilt);
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].sort().flatMap((name) => {
    if (isEqualJson(before.get(name), after.get(name))) return [];
    const what = !after.has(name) ? "is not in the log" : before.has(name) ? "is not as the log says" : "is missing";
    return [`its projection row ${name} ${what}`];
  });
};

/** Of the row's columns, those that a row shows. */
const columnFaults = (row: TaskRow, state: TaskState): string[] =>
  Object.entries(columnsOf(state)).flatMap(([column, value]) => {
    if (!Object.hasOwn(row, column) || isEqualJson(row[column as keyof TaskRow], value)) return [];
    return [`its row's ${column} is not as the log says`];
  });

const projectionFaults = ({ row, entries, rows }: Stored): string[] => {
  try {
    const { state, rows: rebuilt } = rebuild(row.taskId, entries);
    return [...columnFaults(row, state), ...rowFaults(rows, rebuilt)];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [`its log cannot be folded here, so its projections were not checked: ${reason}`];
  }
};

/**
 * All that is wrong with a task; empty when it is whole. `expect` is a chain head in hex that some event must have had.
 * Projections are compared only where the log is whole, for they follow from it. Codes: `not_found`, `unavailable`.
 */
export const checkTask = async (
  { store, hasher }: { readonly store: Store; readonly hasher: Hasher },
  { taskId, expect }: { readonly taskId: string; readonly expect?: string },
): Promise<Finding[]> => {
  const stored = await readTogether(store, taskId);
  const log = checkLog({ taskId, ...stored, hasher, ...(expect === undefined ? {} : { expect }) });
  if (log.length > 0) return log;
  return projectionFaults(stored).map((what) => ({ taskId, seq: null, what }));
};
