// Writes golden logs: runs their scenarios with the real runner over the memory store. By hand: `node
// scripts/golden-logs.ts NAME…`; `--all` for every one. A log that is there already is what an older build wrote: it is
// not written again unless it is named.
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { toHex } from "../src/core/envelope.ts";
import { fold } from "../src/core/fold.ts";
import { TASK, uncheckedHarness, type Harness } from "../src/testing/harness.ts";
import { stateHash } from "../src/testing/kept-log.ts";
import { writeGolden } from "../test/golden/logs.ts";
import type { Scenario } from "../test/golden/scenario.ts";
import { scenarios } from "../test/golden/scenarios.ts";

const { values, positionals } = parseArgs({ options: { all: { type: "boolean" } }, allowPositionals: true });

const isThere = (name: string): boolean => existsSync(new URL(`../test/logs/${name}.jsonl`, import.meta.url));

const play = async ({ options, plan, play: perform }: Scenario): Promise<Harness> => {
  const planned = plan?.(() => harness);
  const harness: Harness = await uncheckedHarness({
    ...options((ms, signal) => harness.sleep(ms, signal)),
    ...(planned === undefined ? {} : { plan: planned }),
  });
  await perform(harness);
  return harness;
};

const wanted = scenarios.filter(({ name }) => positionals.includes(name) || (values.all === true && !isThere(name)));
for (const scenario of wanted) {
  const { name } = scenario;
  const harness = await play(scenario);
  const { store } = harness;
  // Virtual time has fractions; a machine's wall clock, which stores tell, has none.
  const log = (await harness.events()).map((recorded) => ({ ...recorded, at: Math.floor(recorded.at) }));
  const state = fold(TASK, log, harness.agent.reducers);
  const hashes = [...new Set(state.tools.map(({ definition }) => definition))];
  const { revision } = await harness.row();
  const facts = { state: stateHash(state), secret: toHex(await store.getSecret({ taskId: TASK })), revision };
  writeGolden(name, log, facts, await store.getDefinitions({ hashes }));
  console.log(`${name}: ${String(log.length)} events, ends ${log.at(-1)?.event.type ?? ""}`);
}
