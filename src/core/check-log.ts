// Verifies one task's log against its own envelope, its list of redactions and its row. Pure; what `check`, and every
// import, rests on. `at` is not covered: the store sets it at the commit, and a resend must be identical.
import {
  FIRST_CHAIN,
  chainOf,
  digestOf,
  equalBytes,
  redactionChain,
  toHex,
  tombstoneDigest,
  type Envelope,
  type Hasher,
  type Redaction,
} from "./envelope.ts";

/** What `check` found. `seq` is null where the fault is not at one event. */
export interface Finding {
  readonly taskId: string;
  readonly seq: number | null;
  readonly what: string;
}

export interface LogToCheck {
  readonly taskId: string;
  /** In the order in which the store gives them. */
  readonly entries: readonly Envelope[];
  readonly redactions: readonly Redaction[];
  /** What the task's row says of it. */
  readonly row: { readonly lastSeq: number; readonly head: string; readonly redactions: number };
  readonly hasher: Hasher;
  /** A head from a receipt or a bundle, in hex: some event must have had it. */
  readonly expect?: string;
}

/** What is wrong at one event, or (null) at none. */
type Fault = Omit<Finding, "taskId">;

const range = (first: number, last: number): string =>
  first === last ? `event ${String(first)}` : `events ${String(first)} to ${String(last)}`;

/** Each in its place: seqs grow, and times never go back. */
const orderFaults = ({ entries }: LogToCheck): Fault[] =>
  entries.flatMap(({ seq, at }, index): Fault[] => {
    const before = entries[index - 1];
    if (before === undefined) return [];
    if (seq <= before.seq) return [{ seq, what: `it stands after event ${String(before.seq)}` }];
    return at < before.at ? [{ seq, what: "its time is before that of the event before it" }] : [];
  });

/** Dense from 1 to the row's last seq. A gap is named by its first seq. */
const gapFaults = ({ entries, row }: LogToCheck): Fault[] => {
  const faults: Fault[] = [];
  let expected = 1;
  for (const seq of entries.map((entry) => entry.seq).sort((a, b) => a - b)) {
    if (seq > expected) faults.push({ seq: expected, what: `the log lacks ${range(expected, seq - 1)}` });
    expected = seq + 1;
  }
  if (expected <= row.lastSeq) faults.push({ seq: expected, what: `the log lacks ${range(expected, row.lastSeq)}` });
  if (expected > row.lastSeq + 1) {
    faults.push({ seq: row.lastSeq + 1, what: `the row ends the log before it, at ${String(row.lastSeq)}` });
  }
  return faults;
};

/** The first event that does not follow from the one before it; what comes after hangs on it and says nothing. */
const chainFaults = ({ entries, row, hasher }: LogToCheck): Fault[] => {
  let before = FIRST_CHAIN;
  for (const { seq, type, digest, chain } of entries) {
    if (!equalBytes(chain, chainOf(hasher, before, seq, type, digest))) {
      return [{ seq, what: "its seq, type, digest or chain was changed: it does not follow from the event before it" }];
    }
    before = chain;
  }
  if (toHex(before) === row.head) return [];
  return [{ seq: null, what: "the row's head is not that of the last event" }];
};

const digestFaults = ({ entries, redactions, hasher }: LogToCheck): Fault[] => {
  const recorded = new Map(redactions.map((redaction) => [redaction.seq, redaction.digest]));
  const faults: Fault[] = [];
  for (const { seq, type, body, salt, digest } of entries) {
    const redacted = recorded.get(seq);
    recorded.delete(seq);
    if (salt !== null && redacted !== undefined) {
      faults.push({ seq, what: "a redaction of it is recorded, but it holds content" });
    } else if (salt !== null) {
      if (!equalBytes(digest, digestOf(hasher, salt, body)))
        faults.push({ seq, what: "its content, salt or digest was changed" });
    } else if (redacted === undefined) {
      faults.push({ seq, what: "it is a tombstone, but no redaction of it is recorded" });
    } else if (!equalBytes(redacted, tombstoneDigest(hasher, type, body))) {
      faults.push({ seq, what: "its skeleton is not the one that its redaction recorded" });
    }
  }
  for (const seq of recorded.keys()) faults.push({ seq, what: "a redaction of it is recorded, but it is not there" });
  return faults;
};

const redactionFaults = ({ redactions, row, hasher }: LogToCheck): Fault[] => {
  const faults: Fault[] = [];
  const seen = new Set<number>();
  let before = FIRST_CHAIN;
  for (const [index, redaction] of redactions.entries()) {
    const { n, seq, chain } = redaction;
    if (n !== index + 1 || !equalBytes(chain, redactionChain(hasher, before, redaction))) {
      faults.push({
        seq,
        what: `entry ${String(index + 1)} of the list of redactions was changed, or one before it is gone`,
      });
      break;
    }
    if (seen.has(seq)) faults.push({ seq, what: "the list of redactions names it twice" });
    seen.add(seq);
    before = chain;
  }
  if (redactions.length !== row.redactions) {
    const [listed, counted] = [String(redactions.length), String(row.redactions)];
    faults.push({ seq: null, what: `the list of redactions holds ${listed}, the row counts ${counted}` });
  }
  return faults;
};

const expectFaults = ({ entries, expect }: LogToCheck): Fault[] => {
  if (expect === undefined) return [];
  const head = expect.toLowerCase();
  if (entries.some((entry) => toHex(entry.chain) === head)) return [];
  return [{ seq: null, what: `no event has the head ${head}: the log was cut or replaced` }];
};

const firstAt = (faults: readonly Fault[]): number | null => {
  const seqs = faults.flatMap(({ seq }) => (seq === null ? [] : [seq]));
  return seqs.length === 0 ? null : Math.min(...seqs);
};

/** The first seq at which events are gone, misplaced or not what was written, whatever the row says; null for none. */
export const damagedSeq = (log: Omit<LogToCheck, "row" | "expect">): number | null => {
  const row = { lastSeq: log.entries.length, head: "", redactions: log.redactions.length };
  return firstAt([gapFaults, digestFaults, chainFaults].flatMap((faults) => faults({ ...log, row })));
};

/**
 * Everything that is wrong with a log, faults of order first; empty when it is whole. Any changed seq, type, body, salt,
 * digest or chain is named by its seq; of the chain only the first break. A cut tail shows against the row, or against
 * `expect` where the row was cut with it.
 */
export const checkLog = (log: LogToCheck): Finding[] =>
  [orderFaults, gapFaults, digestFaults, chainFaults, redactionFaults, expectFaults].flatMap((faults) =>
    faults(log).map((fault) => ({ taskId: log.taskId, ...fault })),
  );
