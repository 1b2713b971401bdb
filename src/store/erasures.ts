// The journal of erasures, which no backup holds: a restore erases again what was erased since the backup, and begins an
// epoch that none before it had. It is only added to, and holds ids, seqs and digests alone. SQLite's is a file beside the
// database; that of Postgres is a table, and a file where it was copied out.
import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Type, type Static } from "typebox";
import { Check } from "typebox/value";
import { toHex } from "../core/envelope.ts";
import { nodeHasher } from "./node-hasher.ts";

const strict = { additionalProperties: false };

/** A redaction names events by seq and digest, since after a restore a seq may be another event's; and items by a digest of
 * their keys, since a log may not have taken them yet. */
const Erasure = Type.Union([
  Type.Object({ epoch: Type.Integer() }, strict),
  Type.Object({ pruned: Type.String() }, strict),
  Type.Object({ forgotten: Type.String() }, strict),
  Type.Object(
    {
      redacted: Type.String(),
      events: Type.Array(Type.Tuple([Type.Integer(), Type.String()])),
      items: Type.Array(Type.String()),
    },
    strict,
  ),
]);
export type Erasure = Static<typeof Erasure>;
export type Redacted = Extract<Erasure, { redacted: string }>;

/** Names an item in the journal. */
export const keyDigest = (taskId: string, key: string): string => toHex(nodeHasher.sha256(`${taskId}\n${key}`));

/** As a line of the journal, without its end. */
export const erasureLine = (entry: Erasure): string => JSON.stringify(entry);

export interface ErasureJournal {
  /** On disk when this returns. To be called in the transaction that erases: what does not commit may still be noted. */
  note(entries: readonly Erasure[]): void;
}

export const journalPath = (database: string): string => `${database}.erasures`;

/** Makes what was done to names in a folder last. */
export const syncFolder = (path: string): void => {
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
};

/** A writer may have been killed in the middle of its last line. */
const endsInLine = (file: number): boolean => {
  const { size } = fstatSync(file);
  if (size === 0) return true;
  const last = Buffer.alloc(1);
  readSync(file, last, 0, 1, size - 1);
  return last.toString() === "\n";
};

const addLines = (path: string, lines: readonly string[]): void => {
  const isNew = !existsSync(path);
  const file = openSync(path, "a+", 0o600);
  try {
    const text = lines.map((line) => `${line}\n`).join("");
    writeSync(file, endsInLine(file) ? text : `\n${text}`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  if (isNew) syncFolder(path);
};

/** The journal at `path`, made with its first entry. */
export const erasureJournal = (path: string): ErasureJournal => ({
  note(entries) {
    if (entries.length > 0) addLines(path, entries.map(erasureLine));
  },
});

export interface Erasures {
  readonly entries: readonly Erasure[];
  /** Lines that are none: one that a killed writer left is to be expected, and its erasure was not made. */
  readonly unreadable: number;
}

const parse = (line: string): Erasure | null => {
  try {
    const value: unknown = JSON.parse(line);
    return Check(Erasure, value) ? value : null;
  } catch {
    return null;
  }
};

/** The lines of the journal at `path`; none where there is none. */
export const journalLines = (path: string): string[] =>
  existsSync(path)
    ? readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : [];

export const parseErasures = (lines: readonly string[]): Erasures => {
  const entries = lines.map(parse).filter((entry) => entry !== null);
  return { entries, unreadable: lines.length - entries.length };
};

/** In the order in which they were made; none where there is no journal. */
export const readErasures = (path: string): Erasures => parseErasures(journalLines(path));

/** Adds to the copy of a journal at `path` what it lacks, and takes nothing out of it. How many lines that were. */
export const copyErasures = (lines: readonly string[], path: string): number => {
  const known = new Set(journalLines(path));
  const lacking = [...new Set(lines)].filter((line) => !known.has(line));
  if (lacking.length > 0 || !existsSync(path)) addLines(path, lacking);
  return lacking.length;
};
