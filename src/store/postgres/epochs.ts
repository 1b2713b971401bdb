// Epochs: each restore begins one, and so does the database itself where it finds that other tools brought it into another
// cluster. A task is in the epoch that it was created in, until its log tells of a later one.
import { FENCES_OF_AN_EPOCH } from "../backup.ts";
import { parseErasures, type Erasure } from "../erasures.ts";
import { Connection, type Session } from "./connection.ts";
import { journalLines, note } from "./erasures.ts";
import { lockSchema } from "./migrate.ts";

/** One more than any that is known. */
export const epochAfter = (epoch: number, entries: readonly Erasure[]): number =>
  entries.reduce((most, entry) => ("epoch" in entry ? Math.max(most, entry.epoch) : most), epoch) + 1;

/** When a database that was not restored from a backup of ours was left: that is not known better than by its newest event. */
export const newestEvent = async (session: Session): Promise<number> =>
  (await session.first<{ at: number | null }>("SELECT max(updated_at) AS at FROM perdure.tasks"))?.at ?? 0;

export const epochOf = async (session: Session): Promise<number> => {
  const place = await session.first<{ epoch: number }>("SELECT epoch FROM perdure.place");
  if (place === undefined) throw new Error('the table "place" has lost its row');
  return place.epoch;
};

const NOW = "SELECT coalesce(($1::bigint[])[1], perdure.clock_ms()) AS now";

/** What may have gone on after the backup is ready, so that it is told of soon: what rests within a turn by `untold`. */
const RENEW = `UPDATE perdure.tasks SET fence = fence + $1, attempts = 0, claimed_by = NULL, lease_until = NULL, since = $2,
    untold = status = 'waiting' AND outcome IS NULL
  WHERE NOT is_over`;

export interface Epoch {
  readonly epoch: number;
  /** The logs are those of this time (ms). */
  readonly backupAt: number;
}

/**
 * Begins an epoch, in a transaction that holds the schema's lock, and notes it. Nobody holds anything, and fences go on above
 * any that was given out since the backup. How many tasks have not ended.
 */
export const beginEpoch = async (
  session: Session,
  { clock }: Connection,
  { epoch, backupAt }: Epoch,
): Promise<number> => {
  const raised = (epoch - (await epochOf(session))) * FENCES_OF_AN_EPOCH;
  const now = (await session.first<{ now: number }>(NOW, clock))?.now ?? 0;
  await session.rows("UPDATE perdure.place SET epoch = $1, system_id = perdure.system_id()", epoch);
  await session.rows("INSERT INTO perdure.restores (epoch, backup_at) VALUES ($1, $2)", epoch, backupAt);
  await session.rows(RENEW, raised, now);
  await note(session, [{ epoch }]);
  const open = await session.first<{ open: number }>("SELECT count(*) AS open FROM perdure.tasks WHERE NOT is_over");
  return open?.open ?? 0;
};

interface Seen {
  readonly known: string | null;
  readonly here: string | null;
}

const SEEN = "SELECT system_id AS known, perdure.system_id() AS here FROM perdure.place";

/**
 * Begins an epoch where the database is in another cluster than it was: one, whoever of many comes first. A database that
 * never knew its cluster learns it. Where this role may not ask, nothing is compared.
 */
export const comeHome = async (connection: Connection): Promise<void> => {
  const seen = await connection.first<Seen>(SEEN);
  if (seen === undefined || seen.here === null || seen.here === seen.known) return;
  if (seen.known === null) {
    await connection.rows("UPDATE perdure.place SET system_id = $1 WHERE system_id IS NULL", seen.here);
    return;
  }
  // The row of every open task is written: that may take longer than a statement may.
  const patient = new Connection({ ...connection.options, max: 1, timeoutMs: Infinity });
  try {
    await patient.write(async (session) => {
      await lockSchema(session, patient);
      const again = await session.first<Seen>(SEEN);
      if (again === undefined || again.here === again.known) return;
      const { entries } = parseErasures(await journalLines(session));
      const epoch = epochAfter(await epochOf(session), entries);
      await beginEpoch(session, patient, { epoch, backupAt: await newestEvent(session) });
    });
  } finally {
    await patient.close();
  }
};
