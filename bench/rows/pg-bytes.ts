// What a log takes in Postgres, against the JSON of its events.
import { figureOf } from "../figures.ts";
import { withClient, withPostgres, type PostgresServer } from "../postgres/server.ts";
import { atMost, type Row } from "../row.ts";
import { runLoop } from "../steady-loop.ts";
import { openStoreAt } from "../stores.ts";

const OUTPUT_CHARS = 1_000;
const FEW = 500;
const MANY = 2_000;
const PER_EVENT = 150;

/** Bytes of the whole schema: tables, indexes, and what they keep apart. */
const WHOLE = `SELECT sum(pg_total_relation_size(c.oid))::float8 AS bytes FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'perdure' AND c.relkind = 'r'`;
/** Of the events: their rows as they are stored, the pages that hold them, the index. */
const EVENTS = `SELECT pg_relation_size('perdure.events')::float8 AS pages, pg_indexes_size('perdure.events')::float8 AS index,
  sum(pg_column_size(e.*))::float8 AS rows FROM perdure.events e`;

interface Stored {
  readonly events: number;
  readonly json: number;
  /** Less what an empty schema takes. */
  readonly bytes: number;
  readonly parts: { readonly pages: number; readonly index: number; readonly rows: number };
}

const sizeOf = (url: string): Promise<number> =>
  withClient(url, async (client) => {
    await client.query("VACUUM ANALYZE");
    return (await client.query<{ bytes: number }>(WHOLE)).rows[0]?.bytes ?? NaN;
  });

const storedBy = async (server: PostgresServer, cycles: number, snapshots: boolean): Promise<Stored> => {
  const url = await server.database();
  const store = await openStoreAt(url);
  const empty = await sizeOf(url);
  await runLoop(store, { cycles, outputChars: OUTPUT_CHARS, snapshots });
  const { types } = await store.stats();
  await store.close();
  const bytes = (await sizeOf(url)) - empty;
  const found = await withClient(url, (client) => client.query<Stored["parts"]>(EVENTS));
  return {
    events: types.reduce((sum, type) => sum + type.events, 0),
    json: types.reduce((sum, type) => sum + type.bytes, 0),
    bytes,
    parts: found.rows[0] ?? { pages: NaN, index: NaN, rows: NaN },
  };
};

const one = (value: number) => figureOf([value]);

const split = ({ parts: { rows, pages, index }, json, events, bytes }: Stored): string => {
  const per = (size: number): string => (size / events).toFixed(0);
  const around = `${per(rows - json)} around it in its row, ${per(pages - rows)} free or spent on pages, ${per(index)} in the index`;
  return `${around}; ${per(bytes - pages - index)} in all other tables.`;
};

const NAMES = `a log in Postgres, ${String(MANY)} cycles`;

export const pgBytes: Row = {
  name: "pg-bytes",
  measure: (bench) =>
    withPostgres(bench, async (server) => {
      bench.progress("pg-bytes: writing three logs");
      const few = await storedBy(server, FEW, false);
      const many = await storedBy(server, MANY, false);
      const withSnapshots = await storedBy(server, MANY, true);
      const of = "the events' JSON";
      const perEvent = ({ bytes, events }: Stored): number => bytes / events;
      return {
        floors: [{ what: `Postgres, events' JSON, ${String(MANY)} cycles`, unit: "bytes", figure: one(many.json) }],
        results: [
          {
            what: NAMES,
            unit: "bytes",
            figure: one(many.bytes),
            ratio: { of, figure: one(many.bytes / many.json) },
            bar: atMost(1.5),
            note: `outputs of ${String(OUTPUT_CHARS)} characters; ${String(many.events)} events; vacuumed; without snapshots.`,
          },
          {
            what: "in Postgres beyond the JSON",
            unit: "bytes an event",
            figure: one((many.bytes - many.json) / many.events),
            bar: atMost(PER_EVENT, "bytes"),
            note: split(many),
          },
          {
            what: `Postgres, bytes an event, ${String(MANY)} cycles`,
            unit: "bytes",
            figure: one(perEvent(many)),
            ratio: { of: `those of ${String(FEW)} cycles`, figure: one(perEvent(many) / perEvent(few)) },
            bar: atMost(1.05),
          },
          {
            what: `${NAMES}, with its snapshots`,
            unit: "bytes",
            figure: one(withSnapshots.bytes),
            ratio: { of, figure: one(withSnapshots.bytes / withSnapshots.json) },
          },
        ],
      };
    }),
};
