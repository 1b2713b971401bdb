// The journal of erasures as a table, in a schema that no backup holds: written in the transaction that erases.
import { copyErasures, erasureLine, type Erasure } from "../erasures.ts";
import type { Session } from "./connection.ts";

const NOTE = `INSERT INTO perdure_erasures.journal (line)
  SELECT line FROM unnest($1::text[]) WITH ORDINALITY AS l (line, n) ORDER BY n`;

export const noteLines = async (session: Session, lines: readonly string[]): Promise<void> => {
  if (lines.length > 0) await session.rows(NOTE, lines);
};

export const note = (session: Session, entries: readonly Erasure[]): Promise<void> =>
  noteLines(session, entries.map(erasureLine));

/** In the order in which they were made, as lines of the file that SQLite has. */
export const journalLines = async (session: Session): Promise<string[]> =>
  (await session.rows<{ line: string }>("SELECT line FROM perdure_erasures.journal ORDER BY n")).map(
    ({ line }) => line,
  );

/** Adds to the file at `path` what it lacks of the journal. How many lines that were. */
export const copyJournal = async (session: Session, path: string): Promise<number> =>
  copyErasures(await journalLines(session), path);
