// Tasks whole, out of a store and into one. What comes in is verified before anything is kept.
import { checkBundle } from "../check-bundle.ts";
import { sealText } from "../seal.ts";
import { StoreError, type Bundle, type Store } from "../store.ts";
import type { Connection, Session } from "./connection.ts";
import { definitionsOf, useDefinitions } from "./definitions.ts";
import { columnValues, rowValues } from "./drafts.ts";
import { filesOf, writeFile } from "./files.ts";
import { readLog, readRedactions } from "./log.ts";
import { insertRedaction } from "./redaction.ts";
import { findTask, getTask, requireTask } from "./tasks.ts";
import { encodeText } from "./text.ts";

/** Codes: `not_found`, `forgotten`. */
export const exportTask = (connection: Connection, taskId: string): Promise<Bundle> =>
  connection.read(async (session) => {
    const row = await requireTask(connection, session, taskId);
    const shown = await getTask(connection, session, taskId);
    if (shown === null) throw new Error(`task ${taskId} vanished in its own transaction`);
    return {
      format: "perdure-task/1",
      row: shown,
      entries: (await readLog(connection, session, { taskId }, false)).entries,
      redactions: await readRedactions(connection, session, taskId),
      definitions: await definitionsOf(session, row.task),
      files: await filesOf(connection, session, row),
    };
  });

/** Gives each event type a code. The ten have one; a bundle may bring one that is new here. */
const codesOf = async (session: Session, names: readonly string[]): Promise<ReadonlyMap<string, number>> => {
  await session.rows("LOCK TABLE perdure.types IN SHARE ROW EXCLUSIVE MODE");
  await session.rows(
    `INSERT INTO perdure.types (type, name)
     SELECT (SELECT max(type) FROM perdure.types) + row_number() OVER (ORDER BY name), name
     FROM unnest($1::text[]) AS n (name) WHERE name NOT IN (SELECT name FROM perdure.types)`,
    [...new Set(names)].map(encodeText),
  );
  const rows = await session.rows<{ type: number; name: string }>("SELECT type, name FROM perdure.types");
  return new Map(rows.map(({ type, name }) => [name, type]));
};

const INSERT = `INSERT INTO perdure.events (task, at, seq, type, salt, chain, body)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`;

const insertLog = async (
  connection: Connection,
  session: Session,
  task: number,
  { taskId, bundle }: { readonly taskId: string; readonly bundle: Bundle },
): Promise<void> => {
  const { entries, redactions } = bundle;
  const codes = await codesOf(
    session,
    entries.map((entry) => entry.type),
  );
  for (const { seq, at, type, salt, chain, body } of entries) {
    const sealed = Buffer.from(sealText(connection.seal, taskId, body));
    const proof = [salt === null ? null : Buffer.from(salt), Buffer.from(chain)];
    await session.rows(INSERT, task, at, seq, codes.get(type), ...proof, sealed);
  }
  const bySeq = new Map(entries.map((entry) => [entry.seq, entry]));
  for (const redaction of redactions) {
    const entry = bySeq.get(redaction.seq);
    if (entry === undefined) throw new Error(`a bundle that was checked lacks event ${String(redaction.seq)}`);
    await insertRedaction(session, task, { ...redaction, eventDigest: entry.digest });
  }
};

const ADD = `SELECT perdure.add_task($1::text, NULL, $2::jsonb, $3::bytea, $4::bigint, $5::integer, $6::bytea, 0) AS task`;

const SETTLE = `UPDATE perdure.tasks SET updated_at = $2, redactions = $3, revision = $4, inbox_seq = $5, inbox_taken = $5,
    next_timer_at = perdure.next_timer($1), bundle_at = $6::bigint, untold = $6::bigint IS NOT NULL AND outcome IS NULL, since = coalesce(($7::bigint[])[1], perdure.clock_ms())
  WHERE task = $1`;

/** Codes: `conflict`, `forgotten`, `damaged`. */
export const importTask = (connection: Connection, params: Parameters<Store["importTask"]>[0]): Promise<void> => {
  const { taskId, bundle, secret, columns, bundleAt = null } = params;
  return connection.write(async (session) => {
    const gone = await session.first("SELECT FROM perdure.forgotten WHERE id = $1", encodeText(taskId));
    if (gone !== undefined) throw new StoreError("forgotten", `task ${taskId} was forgotten`);
    const taken = new StoreError("conflict", `there is a task ${taskId} already`);
    if ((await findTask(session, taskId)) !== undefined) throw taken;
    checkBundle(bundle);
    const { row, entries } = bundle;
    const [first, last] = [entries[0], entries.at(-1)];
    if (first === undefined || last === undefined) throw new Error("a bundle that was checked has no events");
    const added = await session.first<{ task: number | null }>(
      ADD,
      ...[encodeText(taskId), columnValues(columns), Buffer.from(secret), first.at, last.seq, Buffer.from(last.chain)],
    );
    if (added?.task == null) throw taken;
    const { task } = added as { task: number };
    await insertLog(connection, session, task, params);
    const rows = rowValues(params.rows);
    if (rows !== null) await session.rows("SELECT perdure.write_rows($1::bigint, $2::jsonb)", task, rows);
    await useDefinitions(session, task, bundle.definitions);
    for (const file of bundle.files) await writeFile(connection, session, { task, id: taskId }, file);
    // Hashes in the log were made under the old secret: another revision tells that they no longer compare. Inbox seqs go
    // on, so that what the log has taken is never taken for something seen of the new inbox.
    const settled = [last.at, bundle.redactions.length, row.revision + 1, row.inboxSeq, bundleAt];
    await session.rows(SETTLE, task, ...settled, connection.clock);
  });
};
