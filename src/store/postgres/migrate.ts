// The schema: numbered SQL files, each applied in one transaction under an advisory lock, with the version that the
// database keeps. Safe to be killed at any point and run again, and to be run by several processes at once.
import { readMigrations, type Migration } from "../migration.ts";
import { StoreError } from "../store.ts";
import type { Connection, Session } from "./connection.ts";
import { divideEvents, requirePartitions } from "./partitions.ts";
import { inSchema, journalSchema } from "./schema-names.ts";

/** What this code knows, in order, from version 1 on. */
export const migrations = readMigrations(new URL("./migrations/", import.meta.url));

interface Found {
  readonly encoding: string;
  /** Tables in the schema. */
  readonly tables: number;
  readonly ours: boolean;
}

const FOUND = `SELECT pg_encoding_to_char(encoding) AS encoding,
    (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
      WHERE nspname = $1 AND relkind IN ('r', 'p', 'v', 'm', 'f')) AS tables,
    EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
      WHERE nspname = $1 AND relname = 'place') AND EXISTS (SELECT FROM pg_class c JOIN pg_namespace n
      ON n.oid = relnamespace WHERE nspname = $1 AND relname = 'lanes') AS ours
  FROM pg_database WHERE datname = current_database()`;

/** The version that the schema has; 0 where there is nothing. Codes: `damaged`, `unavailable`. */
export const versionOf = async (session: Session, { name, schema }: Connection): Promise<number> => {
  const found = await session.first<Found>(FOUND, schema);
  if (found === undefined) throw new Error(`${name}: a database that does not know itself`);
  if (found.encoding !== "UTF8") {
    throw new StoreError("unavailable", `${name} keeps text as ${found.encoding}; perdure needs a database in UTF8`);
  }
  if (found.ours) {
    const place = await session.first<{ version: number }>("SELECT version FROM perdure.place");
    if (place === undefined) throw new StoreError("damaged", `${name}: the table "place" has lost its row`);
    return place.version;
  }
  if (found.tables === 0) return 0;
  const told = `${name}: schema ${schema} holds tables that are not perdure's; choose another schema`;
  throw new StoreError("damaged", told);
};

/** Refuses (`not_found`) a database in which no store was made yet. */
export const requireSchema = async (connection: Connection): Promise<void> => {
  if ((await versionOf(connection, connection)) > 0) return;
  throw new StoreError("not_found", `${connection.name} has no tasks yet, for it has no schema ${connection.schema}`);
};

/** Held until the transaction ends by whoever changes the schema, or its epoch. */
export const lockSchema = async (session: Session, { schema }: Connection): Promise<void> => {
  await session.rows("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", `perdure ${schema}`);
};

const THERE = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS there";

/** The schemas may have been made by somebody who may. */
const makeSchemas = async (session: Session, { schema }: Connection): Promise<void> => {
  for (const name of [schema, journalSchema(schema)]) {
    const found = await session.first<{ there: boolean }>(THERE, name);
    if (found?.there === false) await session.rows(`CREATE SCHEMA "${name}"`);
  }
};

/** Applies `migration`, in a transaction that holds the lock. The first one makes so many `partitions`. */
export const applyMigration = async (
  session: Session,
  connection: Connection,
  { version, sql }: Migration,
  partitions = connection.options.partitions,
): Promise<void> => {
  if (version === 1) await makeSchemas(session, connection);
  await session.rows(inSchema(sql, connection.schema));
  if (version === 1 && partitions !== undefined) await divideEvents(session, partitions);
  await session.rows("UPDATE perdure.place SET version = $1", version);
};

/** Applies the next migration that the database lacks, if any. False when there was none. */
const applyNext = (connection: Connection, known: readonly Migration[]): Promise<boolean> =>
  connection.write(async (session) => {
    await lockSchema(session, connection);
    const version = await versionOf(session, connection);
    connection.requireKnown(version, known.length);
    const next = known[version];
    if (next === undefined) return false;
    await applyMigration(session, connection, next);
    return true;
  });

/**
 * Brings the schema to the newest version that `known` has. Codes: `newer_version`, `damaged`, `unavailable`, `conflict`
 * (its partitions are others than the connection asks for).
 */
export const migrate = async (connection: Connection, known: readonly Migration[] = migrations): Promise<void> => {
  const version = await versionOf(connection, connection);
  connection.requireKnown(version, known.length);
  if (version < known.length) while (await applyNext(connection, known));
  await requirePartitions(connection);
};
