// A log of 20,000 events: what it takes on disk, and to claim it beside reading its columns plainly.
import pg from "pg";
import { openPostgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { median } from "../postgres/measure.ts";
import { appendsOf, begin, claimOf, type Claimed } from "./loop.ts";

const LONG = 20_000;
const TASK = "(SELECT task FROM perdure.tasks WHERE id = 'long')";

/** Bytes of the events' JSON. */
const write = async (store: Store, claim: Claimed): Promise<number> => {
  let bytes = 0;
  for (let seq = 1; seq < LONG; seq += 4) {
    for (const params of appendsOf(claim, seq, 1000)) {
      await store.append(params);
      for (const draft of params.drafts) bytes += Buffer.byteLength(draft.body);
    }
  }
  return bytes;
};

const showSize = async (client: pg.Client, bytes: number): Promise<void> => {
  await client.query("CREATE TABLE own (LIKE perdure.events INCLUDING ALL)");
  await client.query(`INSERT INTO own SELECT * FROM perdure.events WHERE task = ${TASK} ORDER BY seq`);
  await client.query("VACUUM ANALYZE own");
  const found =
    await client.query(`SELECT pg_relation_size('own')::float8 AS heap, pg_indexes_size('own')::float8 AS index,
    sum(pg_column_size(own.*))::float8 AS rows, count(*)::float8 AS n FROM own`);
  const { heap, index, rows, n } = found.rows[0] as Record<"heap" | "index" | "rows" | "n", number>;
  const per = (size: number): string => (size / n).toFixed(0);
  console.log(
    `stored: ${((heap + index) / bytes).toFixed(2)} of the JSON (${per(bytes)} per event); beyond it per event`,
  );
  console.log(
    `  ${per(heap + index - bytes)}: rows ${per(rows - bytes)}, pages ${per(heap - rows)}, index ${per(index)}`,
  );
};

export const measureLongLog = async (url: string, rounds: number): Promise<void> => {
  const store = await openPostgresStore({ url, notify: false });
  const claim = await begin(store, "long");
  const bytes = await write(store, claim);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await showSize(client, bytes);
  await client.query("VACUUM ANALYZE perdure.events");
  const times: Record<"floor" | "claim", number[]> = { floor: [], claim: [] };
  const timed = async (name: "floor" | "claim", work: () => Promise<void>): Promise<void> => {
    const began = performance.now();
    await work();
    times[name].push(performance.now() - began);
  };
  const columns = "seq, at, type, convert_from(body, 'UTF8') AS body";
  let { fence } = claim;
  for (let round = 0; round <= rounds; round += 1) {
    await store.release({ taskId: "long", kind: "stop", fence });
    await timed("floor", async () => {
      const found = await client.query(`SELECT ${columns} FROM perdure.events WHERE task = ${TASK} ORDER BY seq`);
      for (const { body } of found.rows as { body: string }[]) JSON.parse(body);
    });
    await timed("claim", async () => {
      const again = await claimOf(store, "long");
      for (const { body } of again?.entries ?? []) JSON.parse(body);
      fence = again?.fence ?? 0;
    });
  }
  const ratios = times.claim.map((ms, round) => ms / (times.floor[round] ?? ms));
  console.log(
    `claim and parse of ${String(LONG)} events: ${median(times.claim).toFixed(0)} ms, reading and parsing`,
    `${median(times.floor).toFixed(0)} ms, ratio ${median(ratios).toFixed(2)}`,
  );
  await client.end();
  await store.close();
};
