// The journal of erasures, a file beside the database that no backup holds: a restore erases again what was erased since
// the backup, and begins an epoch that none before it had. It is only added to, and holds ids, seqs and digests alone.
import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Type, type Static } from "typebox";
import { Check } from "typebox/value";

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

/** The journal at `path`, made with its first entry. */
export const erasureJournal = (path: string): ErasureJournal => ({
  note(entries) {
    if (entries.length === 0) return;
    const isNew = !existsSync(path);
    const file = openSync(path, "a+", 0o600);
    try {
      const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
      writeSync(file, endsInLine(file) ? lines : `\n${lines}`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (isNew) syncFolder(path);
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

/** In the order in which they were made; none where there is no journal. */
export const readErasures = (path: string): Erasures => {
  if (!existsSync(path)) return { entries: [], unreadable: 0 };
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  const entries = lines.map(parse).filter((entry) => entry !== null);
  return { entries, unreadable: lines.length - entries.length };
};
