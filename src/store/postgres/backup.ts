// A backup: every table of the schema in one file, as of one moment, while workers go on. It is read in one transaction,
// which keeps no writer out, and checked in that same transaction.
import { existsSync, rmSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Backup, Verify } from "../backup.ts";
import { partFor, putInPlace } from "../part-file.ts";
import { plainSeal } from "../seal.ts";
import { StoreError, type Finding, type Seal } from "../store.ts";
import { systemCode } from "../system-code.ts";
import { BackupWriter, type Header, type Table } from "./backup-file.ts";
import { Connection, type DatabaseClock, type Transaction } from "./connection.ts";
import { comeHome } from "./epochs.ts";
import { copyJournal } from "./erasures.ts";
import { migrate, migrations, requireSchema } from "./migrate.ts";
import { inMoment } from "./moment.ts";
import { fromUrl } from "./url.ts";

/** A database as backups and restores open it. */
export interface DatabaseOptions {
  /** See PostgresOptions. */
  readonly url: string;
  readonly schema?: string;
  readonly partitions?: number;
  readonly seal?: Seal;
  readonly clock?: DatabaseClock;
}

export interface BackupOptions extends DatabaseOptions {
  /** Where to. Must not be there. */
  readonly to: string;
  readonly verify?: Verify;
}

/** One connection, on which a statement takes as long as it takes. */
export const connectTo = ({ url: text, seal = plainSeal, clock, ...asked }: DatabaseOptions): Connection => {
  const { url, ...given } = fromUrl(text);
  const { schema = given.schema ?? "perdure", partitions = given.partitions } = asked;
  return new Connection({
    ...{ url, schema, partitions },
    ...{ max: 1, timeoutMs: Infinity, seal, clock, known: migrations.length, prepared: false },
  });
};

/** What the file system refuses; all else comes back as it is. */
export const refusedFile = (path: string, error: unknown): unknown => {
  if (!(error instanceof Error) || systemCode(error) === undefined) return error;
  return new StoreError("unavailable", `${path}: ${error.message}`, { cause: error });
};

/** A name as it stands in a statement. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The end of a COPY of this table. */
export const copied = ({ name, columns }: Table): string =>
  `perdure.${quoted(name)} (${columns.map(quoted).join(", ")})`;

/** The beginning of a COPY of its rows: out of one table, or of its partitions, which COPY takes from a query alone. */
const copying = ({ divided, ...table }: Found): string =>
  divided ? `(SELECT ${table.columns.map(quoted).join(", ")} FROM perdure.${quoted(table.name)})` : copied(table);

interface Found extends Table {
  readonly divided: boolean;
}

/** Every table with the columns that hold what others do not follow from; those that others refer to first. */
const TABLES = `SELECT c.relname AS name, json_agg(attname ORDER BY attnum) AS columns, relkind = 'p' AS divided
  FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid JOIN pg_namespace n ON n.oid = relnamespace
  WHERE nspname = $1 AND relkind IN ('r', 'p') AND NOT relispartition
    AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
  GROUP BY c.oid, c.relname, c.relkind
  ORDER BY EXISTS (SELECT FROM pg_constraint WHERE conrelid = c.oid AND contype = 'f'), c.relname`;

const HEADER = `SELECT version AS schema, epoch, partitions, system_id AS "systemId", $1::bigint AS "backupAt"
  FROM perdure.place`;

const write = async (connection: Connection, session: Transaction, part: string, at: number): Promise<void> => {
  const header = await session.first<Header>(HEADER, at);
  if (header === undefined) throw new StoreError("damaged", `${connection.name}: the table "place" has lost its row`);
  const writer = await BackupWriter.begin(part, header);
  try {
    for (const table of await session.rows<Found>(TABLES, connection.schema)) {
      await writer.table({ name: table.name, columns: table.columns });
      const rows = session.copyOut(`COPY ${copying(table)} TO STDOUT (FORMAT binary)`);
      for await (const chunk of rows) await writer.rows(chunk);
    }
    await writer.end();
  } finally {
    await writer.close();
  }
};

const NOW = "SELECT coalesce(($1::bigint[])[1], perdure.clock_ms()) AS now";

/**
 * Makes a backup of the database at `url`. The file is whole, or not there. Codes: `conflict` (something is there already),
 * `not_found` (no schema), `damaged`, `newer_version`, `unavailable`.
 */
export const backupDatabase = async (options: BackupOptions): Promise<Backup> => {
  const to = resolve(options.to);
  if (existsSync(to)) throw new StoreError("conflict", `${to} is there already; it was left as it is`);
  const connection = connectTo(options);
  let part: string | undefined;
  try {
    await requireSchema(connection);
    await migrate(connection);
    await comeHome(connection);
    const making = (part = partFor(to));
    // Before the moment: what was committed until now is in it.
    const backupAt = (await connection.first<{ now: number }>(NOW, connection.clock))?.now ?? 0;
    const findings = await connection.read(async (session): Promise<readonly Finding[]> => {
      rmSync(making, { force: true });
      await write(connection, session, making, backupAt);
      return inMoment(connection, session, async (store) => (await options.verify?.(store)) ?? store.check());
    });
    putInPlace(making, to);
    return { path: to, backupAt, bytes: statSync(to).size, findings };
  } catch (error) {
    if (part !== undefined) rmSync(part, { force: true });
    throw refusedFile(to, error);
  } finally {
    await connection.close();
  }
};

/** Adds to the file at `to` what it lacks of the journal of erasures. How many lines that were. Codes: as above. */
export const backupErasures = async (options: DatabaseOptions & { readonly to: string }): Promise<number> => {
  const connection = connectTo(options);
  try {
    await requireSchema(connection);
    return await copyJournal(connection, resolve(options.to));
  } catch (error) {
    throw refusedFile(options.to, error);
  } finally {
    await connection.close();
  }
};
