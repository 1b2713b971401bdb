// Golden logs: what older builds wrote folds in this one to what it folded to then, and each goes on from wherever it is cut.
import { readFileSync, readdirSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { eventTypes, waitingOn } from "../src/core/events.ts";
import { itemTypes } from "../src/core/items.ts";
import { fold } from "../src/core/fold.ts";
import { printLog } from "../src/core/print.ts";
import { expectFoldsAgree, faultsOf } from "../src/testing/check-task.ts";
import { TASK } from "../src/testing/harness.ts";
import { stateHash, writeLog } from "../src/testing/kept-log.ts";
import { inFile } from "./fuzz/place.ts";
import { goOn, harnessFor, load } from "./golden/go-on.ts";
import { readFacts, readGolden } from "./golden/logs.ts";
import { scenarios } from "./golden/scenarios.ts";
import { temporaryFolder } from "./sqlite/log-writer.ts";

const cases = scenarios.map((scenario) => [scenario.name, scenario] as const);
/** Every so many seqs a cut goes on in a SQLite file too; which ones depends on the log. */
const SQLITE_STEP = 3;

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

test("every golden log has its scenario, its printed form and its hash", () => {
  const names = scenarios.map(({ name }) => name).sort();
  const there = readdirSync(new URL("./logs/", import.meta.url));
  const of = (end: string): string[] =>
    there.filter((file) => file.endsWith(end)).map((file) => file.slice(0, -end.length));
  expect(of(".jsonl").sort()).toEqual(names);
  expect(of(".txt").sort()).toEqual(names);
  expect(Object.keys(readFacts()).sort()).toEqual(names);
});

test("golden logs hold every event type, wait and item that this build can write", () => {
  const logs = scenarios.flatMap(({ name }) => readGolden(name).log.map(({ event }) => event));
  const types = new Set(logs.map(({ type }) => type));
  expect(eventTypes.filter((type) => !types.has(type))).toEqual([]);
  const waits = new Set(logs.flatMap((event) => (event.type === "Waiting" ? [event.on] : [])));
  expect(waitingOn.filter((on) => !waits.has(on))).toEqual([]);
  const items = new Set(
    logs.flatMap((event) => (event.type === "InputTaken" ? event.items.map(({ type }) => type) : [])),
  );
  expect(itemTypes.filter((type) => !items.has(type))).toEqual([]);
});

describe.each(cases)("the golden log %s", (name, scenario) => {
  test("prints as it was printed, and its lines carry it whole", () => {
    const { log, printed } = readGolden(name);
    expect(`${printLog(log)}\n`).toBe(printed);
    expect(writeLog(log)).toBe(readFileSync(new URL(`./logs/${name}.jsonl`, import.meta.url), "utf8"));
  });

  test("folds to the state that it folded to when it was written, whole and from snapshots", async () => {
    const { log, facts } = readGolden(name);
    const { reducers } = (await harnessFor(scenario)).agent;
    expect(stateHash(fold(TASK, log, reducers))).toBe(facts.state);
    expectFoldsAgree(TASK, log, reducers);
  });

  test("has in a store the rows that its log says, and verifies", async () => {
    const golden = readGolden(name);
    const harness = await harnessFor(scenario);
    await load(harness, golden, golden.log.length);
    const { store, agent } = harness;
    const { reducers } = agent;
    expect(await faultsOf({ store, taskId: TASK, reducers, sent: [], accepted: [] })).toEqual([]);
  });

  test("goes on to an end from wherever it is cut", async () => {
    const golden = readGolden(name);
    for (let through = 1; through <= golden.log.length; through += 1) {
      expect(await goOn(scenario, golden, through), `cut after seq ${String(through)}`).toEqual([]);
    }
  });

  test("goes on so in a SQLite file too", async () => {
    const golden = readGolden(name);
    for (let through = 1 + (name.length % SQLITE_STEP); through <= golden.log.length; through += SQLITE_STEP) {
      const path = folder.path(`${name}-${String(through)}.db`);
      const faults = await inFile(path, ({ store }) => goOn(scenario, golden, through, store));
      expect(faults, `cut after seq ${String(through)}`).toEqual([]);
    }
  });
});
