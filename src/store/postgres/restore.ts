// A restore: a schema made from a backup, in a new epoch, with what was erased since erased again. All of it is one
// transaction: killed at any point, it leaves what was there, and can be run again.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Restored, Verify } from "../backup.ts";
import { journalLines as linesOf, parseErasures } from "../erasures.ts";
import { StoreError } from "../store.ts";
import { applyErasures } from "./apply-erasures.ts";
import { connectTo, copied, quoted, refusedFile, type DatabaseOptions } from "./backup.ts";
import { BackupReader } from "./backup-file.ts";
import type { Connection, Session, Transaction } from "./connection.ts";
import { beginEpoch, epochAfter, epochOf, newestEvent } from "./epochs.ts";
import { journalLines, noteLines } from "./erasures.ts";
import { applyMigration, lockSchema, migrate, migrations, requireSchema, versionOf } from "./migrate.ts";
import { inMoment } from "./moment.ts";
import { notePartitions } from "./partitions.ts";
import { inSchema, journalSchema } from "./schema-names.ts";

export interface RecoverOptions extends DatabaseOptions {
  /** A journal of erasures that was copied out, applied beside the database's own. */
  readonly erasures?: string;
  readonly verify?: Verify;
}

export interface RestoreOptions extends RecoverOptions {
  readonly from: string;
  /** Moves a schema that is there aside; otherwise it is refused. */
  readonly replace: boolean;
}

const LEAVE_MS = 3_000;
const LOOK_MS = 100;

const OTHERS = `SELECT count(*) AS n FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE 'perdure%' AND pid <> pg_backend_pid()`;

/** Refuses (`unavailable`) while another process has a store of this database open; one that just ended may need a moment.
 * Who comes later does no harm, for it holds no fence of the new epoch. */
const requireNobody = async (connection: Connection): Promise<void> => {
  for (let waited = 0; ; waited += LOOK_MS) {
    const others = (await connection.first<{ n: number }>(OTHERS))?.n ?? 0;
    if (others === 0) return;
    if (waited >= LEAVE_MS) {
      const told = `${connection.name} is open in another process (${String(others)} connections); stop the workers first`;
      throw new StoreError("unavailable", told);
    }
    await delay(LOOK_MS);
  }
};

const givenLines = ({ erasures }: RecoverOptions): string[] => {
  if (erasures === undefined) return [];
  if (!existsSync(erasures)) throw new StoreError("not_found", `there is no journal of erasures at ${erasures}`);
  return linesOf(erasures);
};

/** A schema's name that is free, for the one that was there. */
const asideOf = (schema: string): string =>
  `${schema.slice(0, 20)}_replaced_${new Date().toISOString().replace(/\D/g, "")}`;

/** Functions name the schema that they stand in. */
const RENAME_IN_FUNCTIONS = `DO $do$
DECLARE f record;
BEGIN
  FOR f IN SELECT pg_get_functiondef(oid) AS definition FROM pg_proc WHERE pronamespace = 'NEW'::regnamespace LOOP
    EXECUTE replace(replace(f.definition, '"OLD".', '"NEW".'), '"OLD_JOURNAL".', '"NEW_JOURNAL".');
  END LOOP;
END $do$`;

/** Gives the schema another name, under which it is a whole store, with a copy of the journal. Waits for who writes to it. */
const moveAside = async (session: Session, { schema }: Connection): Promise<string> => {
  const aside = asideOf(schema);
  await session.rows("LOCK TABLE perdure.tasks IN ACCESS EXCLUSIVE MODE");
  await session.rows(`ALTER SCHEMA "${schema}" RENAME TO "${aside}"`);
  await session.rows(
    RENAME_IN_FUNCTIONS.replaceAll("OLD_JOURNAL", journalSchema(schema))
      .replaceAll("NEW_JOURNAL", journalSchema(aside))
      .replaceAll("OLD", schema)
      .replaceAll("NEW", aside),
  );
  await session.rows(`CREATE SCHEMA "${journalSchema(aside)}"`);
  const journal = inSchema("perdure_erasures.journal", aside);
  await session.rows(`CREATE TABLE ${journal} (LIKE perdure_erasures.journal INCLUDING ALL)`);
  await session.rows(`INSERT INTO ${journal} (line) SELECT line FROM perdure_erasures.journal ORDER BY n`);
  return aside;
};

const IDENTITIES = `SELECT relname AS name, attname AS column,
    pg_get_serial_sequence(format('%I.%I', nspname, relname), attname) AS sequence
  FROM pg_class c JOIN pg_attribute ON attrelid = c.oid JOIN pg_namespace n ON n.oid = relnamespace
  WHERE nspname = $1 AND relkind IN ('r', 'p') AND NOT relispartition AND attidentity <> ''`;

interface Identity {
  readonly name: string;
  readonly column: string;
  readonly sequence: string;
}

/**
 * Makes the schema that the backup is of, in as many partitions unless the connection names a number, puts its rows in, and
 * brings it to the newest version.
 */
const fill = async (session: Transaction, connection: Connection, backup: BackupReader): Promise<void> => {
  const { schema: version, partitions: had } = await backup.header();
  const partitions = connection.options.partitions ?? had ?? undefined;
  for (const migration of migrations.slice(0, version)) {
    await applyMigration(session, connection, migration, partitions);
  }
  for (let table = await backup.table(); table !== undefined; table = await backup.table()) {
    // What a migration puts in is in the backup.
    await session.rows(`DELETE FROM perdure.${quoted(table.name)}`);
    await session.copyIn(`COPY ${copied(table)} FROM STDIN (FORMAT binary)`, backup.rows());
    // The planner knows nothing of a table whose rows came at once.
    await session.rows(`ANALYZE perdure.${quoted(table.name)}`);
  }
  await notePartitions(session, partitions);
  for (const { name, column, sequence } of await session.rows<Identity>(IDENTITIES, connection.schema)) {
    const next = `(SELECT coalesce(max(${quoted(column)}), 0) + 1 FROM perdure.${quoted(name)})`;
    await session.rows(`SELECT setval($1::text::regclass, ${next}, false)`, sequence);
  }
  for (const migration of migrations.slice(version)) await applyMigration(session, connection, migration);
};

type Renewed = Pick<Restored, "backupAt" | "epoch" | "open" | "erased" | "unreadable" | "findings">;

/** Makes what the transaction sees a database of a new epoch. */
const renew = async (
  session: Transaction,
  connection: Connection,
  options: RecoverOptions,
  { backupAt, epochBefore }: { readonly backupAt: number; readonly epochBefore: number },
): Promise<Renewed> => {
  const own = await journalLines(session);
  const known = new Set(own);
  const brought = givenLines(options).filter((line) => !known.has(line));
  const { entries, unreadable } = parseErasures([...own, ...brought]);
  await noteLines(session, brought);
  const epoch = epochAfter(Math.max(epochBefore, await epochOf(session)), entries);
  const open = await beginEpoch(session, connection, { epoch, backupAt });
  const erased = await applyErasures(connection, session, entries);
  const findings = await inMoment(connection, session, async (store) => {
    const broken = (await store.check()).find(({ taskId }) => taskId === "");
    if (broken !== undefined) throw new StoreError("damaged", `what was restored is damaged: ${broken.what}`);
    return (await options.verify?.(store)) ?? store.check();
  });
  return { backupAt, epoch, open, erased, unreadable, findings };
};

const bounded = (session: Session): Promise<unknown> => session.rows("SET LOCAL lock_timeout = '10s'");

/**
 * Restores. Codes: `not_found` (no backup there), `conflict` (there are tasks already), `damaged`, `newer_version`,
 * `unavailable` (another process has the database to be replaced open).
 */
export const restoreDatabase = async (options: RestoreOptions): Promise<Restored> => {
  const connection = connectTo(options);
  let backup: BackupReader | undefined;
  try {
    const reader = (backup = await BackupReader.open(resolve(options.from)));
    const { schema: version, backupAt } = await reader.header();
    if (version > migrations.length) {
      const told = `${reader.path} has version ${String(version)} of the schema, written by a newer perdure`;
      throw new StoreError("newer_version", `${told}; this one knows versions up to ${String(migrations.length)}`);
    }
    if (options.replace) await requireNobody(connection);
    return await connection.write(async (session) => {
      await bounded(session);
      await lockSchema(session, connection);
      const taken = (await versionOf(session, connection)) > 0;
      if (taken && !options.replace) {
        const told = `${connection.name} has tasks in schema ${connection.schema}; with --replace they are moved aside`;
        throw new StoreError("conflict", told);
      }
      const epochBefore = taken ? await epochOf(session) : 0;
      const aside = taken ? await moveAside(session, connection) : null;
      await fill(session, connection, reader);
      const renewed = await renew(session, connection, options, { backupAt, epochBefore });
      return { path: connection.name, aside, ...renewed };
    });
  } catch (error) {
    throw refusedFile(options.from, error);
  } finally {
    await backup?.close();
    await connection.close();
  }
};

/**
 * Begins an epoch in a database that other tools have set back in place, by point-in-time recovery say, and erases again what
 * was erased since. Codes: `not_found` (no tasks there), `damaged`, `newer_version`, `unavailable`.
 */
export const recoverDatabase = async (options: RecoverOptions): Promise<Restored> => {
  const connection = connectTo(options);
  try {
    await requireSchema(connection);
    await migrate(connection);
    await requireNobody(connection);
    return await connection.write(async (session) => {
      await bounded(session);
      await lockSchema(session, connection);
      const backupAt = await newestEvent(session);
      const renewed = await renew(session, connection, options, { backupAt, epochBefore: 0 });
      return { path: connection.name, aside: null, ...renewed };
    });
  } catch (error) {
    throw refusedFile(connection.name, error);
  } finally {
    await connection.close();
  }
};
