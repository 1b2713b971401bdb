// npm run bench [-- row …] [--rivals] [--json]: measures the rows of the table of figures, floors in the same run, and prints
// it. Rivals are installed when they are first asked for.
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { isReached, type Bench, type Measured, type Row } from "./row.ts";
import { bytes } from "./rows/bytes.ts";
import { claim } from "./rows/claim.ts";
import { growth } from "./rows/growth.ts";
import { idle } from "./rows/idle.ts";
import { langgraph } from "./rows/langgraph.ts";
import { pgAbsurd } from "./rows/pg-absurd.ts";
import { pgBytes } from "./rows/pg-bytes.ts";
import { pgClaim } from "./rows/pg-claim.ts";
import { pgDbos } from "./rows/pg-dbos.ts";
import { pgIdle } from "./rows/pg-idle.ts";
import { pgLanggraph } from "./rows/pg-langgraph.ts";
import { pgMany } from "./rows/pg-many.ts";
import { pgQueues } from "./rows/pg-queues.ts";
import { pgSmall } from "./rows/pg-small.ts";
import { pgSteady, pgSteadyDelay } from "./rows/pg-steady.ts";
import { pgTakeover } from "./rows/pg-takeover.ts";
import { pgWake } from "./rows/pg-wake.ts";
import { restate } from "./rows/restate.ts";
import { snapshots } from "./rows/snapshots.ts";
import { steady } from "./rows/steady.ts";
import { takeover } from "./rows/takeover.ts";
import { wake } from "./rows/wake.ts";
import { formatTable, tableData } from "./table.ts";
import { createTemporaryFolders } from "./temporary-folders.ts";

const onSqlite: readonly Row[] = [steady, growth, bytes, claim, snapshots, wake, takeover, idle];
const onPostgres: readonly Row[] = [
  pgSteady,
  pgSteadyDelay,
  pgSmall,
  pgClaim,
  pgBytes,
  pgWake,
  pgTakeover,
  pgIdle,
  pgMany,
];
const own = [...onSqlite, ...onPostgres];
const rivals: readonly Row[] = [langgraph, pgDbos, pgAbsurd, restate, pgLanggraph, pgQueues];
const rows = [...own, ...rivals];

/** The rows named on the command line; without any, all of ours, and rivals' where they are asked for. Throws for a name
 * that is none. */
const chosen = (names: readonly string[], withRivals: boolean): readonly Row[] => {
  const unknown = names.filter((name) => !rows.some((row) => row.name === name));
  if (unknown.length > 0) {
    throw new Error(`no row ${unknown.join(", ")}; there are ${rows.map((row) => row.name).join(", ")}`);
  }
  if (names.length === 0) return withRivals ? rows : own;
  return rows.filter((row) => names.includes(row.name));
};

const measureAll = async (which: readonly Row[]): Promise<Map<string, Measured>> => {
  const folders = createTemporaryFolders();
  const bench: Bench = {
    folder: () => folders.make(),
    progress: (message) => {
      process.stderr.write(`${message}\n`);
    },
  };
  const measured = new Map<string, Measured>();
  try {
    for (const row of which) measured.set(row.name, await row.measure(bench));
  } finally {
    folders.remove();
  }
  return measured;
};

const conditions = (): string => {
  const processor = cpus()[0]?.model ?? "unknown processor";
  const load = loadavg().map((value) => value.toFixed(1));
  return `Node ${process.version}, ${String(cpus().length)} x ${processor}, load ${load.join(" ")}`;
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean" }, rivals: { type: "boolean", default: false } },
});
const before = conditions();
const measured = await measureAll(chosen(positionals, values.rivals));
if (values.json === true) {
  console.log(JSON.stringify({ conditions: before, rows: tableData(measured) }, null, 2));
} else {
  const results = [...measured.values()].flatMap((each) => each.results);
  const count = (verdict: boolean): string => String(results.filter((each) => isReached(each) === verdict).length);
  console.log(`${before}\n\n${formatTable(measured)}\n\n${count(true)} reached, ${count(false)} NOT reached`);
}
