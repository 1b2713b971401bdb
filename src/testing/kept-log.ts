// Logs kept as text, one line of JSON per event, so that every later build can be asked to fold them: to text and back,
// the hash of what they fold to, and a bundle that any store takes in.
import { decodeEvent, encodeEvent } from "../core/codec.ts";
import {
  FIRST_CHAIN,
  chainOf,
  digestOf,
  redactionChain,
  toHex,
  tombstoneDigest,
  SALT_BYTES,
} from "../core/envelope.ts";
import type { Recorded } from "../core/events.ts";
import { createState } from "../core/fold.ts";
import { applyAndProject, columnsOf, mergeRows, type Row } from "../core/project.ts";
import type { Reducers, TaskState } from "../core/state.ts";
import { nodeHasher } from "../store/node-hasher.ts";
import type { Bundle, Definition, Envelope, Redaction, Store } from "../store/store.ts";

/** What a log needs beside its events to be gone on with. */
export interface Kept {
  readonly taskId: string;
  readonly log: readonly Recorded[];
  /** Under which request hashes were made, in the task's newest revision. */
  readonly secret: Uint8Array;
  readonly revision: number;
  readonly definitions: readonly Definition[];
}

/** One line per event: seq, at, type and body. */
export const writeLog = (log: readonly Recorded[]): string =>
  log
    .map(({ seq, at, event }) => {
      const head = `{"seq":${String(seq)},"at":${String(at)},"type":${JSON.stringify(event.type)}`;
      return `${head},"body":${encodeEvent(event)}}\n`;
    })
    .join("");

/** The log of such lines, decoded as a store's bytes are. */
export const readLog = (text: string): Recorded[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const { seq, at, type, body } = JSON.parse(line) as { seq: number; at: number; type: string; body: unknown };
      return { seq, at, event: decodeEvent(type, JSON.stringify(body)) };
    });

/** JSON with the keys of every object sorted, so that the order in which a state came about does not count. */
const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, entry: unknown) =>
    typeof entry === "object" && entry !== null && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
      : entry,
  );

/** SHA-256 of the state's canonical JSON, in hex. */
export const stateHash = (state: TaskState): string => toHex(nodeHasher.sha256(canonicalJson(state)));

/** Salts need not be random here: nobody guesses at the content of a test. */
const saltOf = (seq: number): Uint8Array => nodeHasher.sha256(`salt ${String(seq)}`).slice(0, SALT_BYTES);

interface Sealed {
  readonly entries: readonly Envelope[];
  readonly redactions: readonly Redaction[];
  readonly head: Uint8Array;
}

/** The log with envelopes that verify. What a redacted event's digest covered is gone: any digest stands for it. */
const seal = (log: readonly Recorded[]): Sealed => {
  let head: Uint8Array = FIRST_CHAIN;
  const redactions: Redaction[] = [];
  const entries = log.map(({ seq, at, event }): Envelope => {
    const { type } = event;
    const body = encodeEvent(event);
    const isRedacted = event.redacted === true;
    const salt = isRedacted ? null : saltOf(seq);
    const digest = salt === null ? nodeHasher.sha256(`gone ${String(seq)}`) : digestOf(nodeHasher, salt, body);
    if (isRedacted) {
      const entry = { n: redactions.length + 1, seq, digest: tombstoneDigest(nodeHasher, type, body) };
      const chain = redactionChain(nodeHasher, redactions.at(-1)?.chain ?? FIRST_CHAIN, entry);
      redactions.push({ ...entry, chain });
    }
    head = chainOf(nodeHasher, head, seq, type, digest);
    return { seq, at, type, body, salt, digest, chain: head };
  });
  return { entries, redactions, head };
};

/** The state of a log, and the projection rows that its appends wrote. */
export const foldWithRows = (
  taskId: string,
  log: readonly Recorded[],
  reducers: Reducers,
): { readonly state: TaskState; readonly rows: Row[] } => {
  const [first, ...rest] = log;
  if (first === undefined) throw new Error(`the log of ${taskId} is empty`);
  const state = createState(taskId, first);
  return { state, rows: mergeRows(rest.flatMap((recorded) => applyAndProject(state, recorded, reducers))) };
};

/** Puts a log into a store, as a task that stands where the log ends, with an empty inbox and no claim. */
export const storeLog = async (store: Store, kept: Kept, reducers: Reducers): Promise<void> => {
  const { taskId, log, secret, revision, definitions } = kept;
  const { state, rows } = foldWithRows(taskId, log, reducers);
  const { entries, redactions, head } = seal(log);
  const columns = columnsOf(state);
  const { historyFrom: _, ...shown } = columns;
  const bundle: Bundle = {
    format: "perdure-task/1",
    row: {
      ...shown,
      taskId,
      createdAt: entries[0]?.at ?? 0,
      updatedAt: entries.at(-1)?.at ?? 0,
      lastSeq: entries.length,
      head: toHex(head),
      // A store that takes a bundle in raises its revision; request hashes are compared within one.
      revision: revision - 1,
      redactions: redactions.length,
      inboxSeq: state.inboxTaken,
      inboxTaken: state.inboxTaken,
      fence: 0,
      claimedBy: null,
      held: null,
      nextTimerAt: null,
      restoredFrom: null,
    },
    entries,
    redactions,
    definitions,
    files: [],
  };
  await store.importTask({ taskId, bundle, secret, columns, rows });
};
