// The golden logs in test/logs: NAME.jsonl holds the events, NAME.txt the printed log; what belongs to all of them stands
// in definitions.json and hashes.json.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { printLog } from "../../src/core/print.ts";
import type { Recorded } from "../../src/core/events.ts";
import { TASK } from "../../src/testing/harness.ts";
import { readLog, writeLog, type Kept } from "../../src/testing/kept-log.ts";

/** What is recorded beside a log. */
export interface Facts {
  /** The hash of the state that it folds to. */
  readonly state: string;
  /** Hex. */
  readonly secret: string;
  readonly revision: number;
}

const folder = new URL("../logs/", import.meta.url);
const fileOf = (name: string): URL => new URL(name, folder);
const read = (name: string): string => readFileSync(fileOf(name), "utf8");
const readJson = (name: string): unknown => (existsSync(fileOf(name)) ? JSON.parse(read(name)) : {});

export const readFacts = (): Record<string, Facts> => readJson("hashes.json") as Record<string, Facts>;
/** Texts of tool definitions by hash. */
const readDefinitions = (): Record<string, string> => readJson("definitions.json") as Record<string, string>;

export interface Golden extends Kept {
  readonly name: string;
  readonly printed: string;
  readonly facts: Facts;
}

export const readGolden = (name: string): Golden => {
  const facts = readFacts()[name];
  if (facts === undefined) throw new Error(`test/logs/hashes.json knows no ${name}; run scripts/golden-logs.ts`);
  return {
    name,
    taskId: TASK,
    log: readLog(read(`${name}.jsonl`)),
    printed: read(`${name}.txt`),
    facts,
    secret: Buffer.from(facts.secret, "hex"),
    revision: facts.revision,
    definitions: Object.entries(readDefinitions()).map(([hash, text]) => ({ hash, text })),
  };
};

const sorted = <T>(record: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));

const writeJson = (name: string, value: Record<string, unknown>): void =>
  writeFileSync(fileOf(name), `${JSON.stringify(sorted(value), null, 2)}\n`);

export const writeGolden = (
  name: string,
  log: readonly Recorded[],
  facts: Facts,
  definitions: Kept["definitions"],
): void => {
  writeFileSync(fileOf(`${name}.jsonl`), writeLog(log));
  writeFileSync(fileOf(`${name}.txt`), `${printLog(log)}\n`);
  writeJson("hashes.json", { ...readFacts(), [name]: facts });
  const texts = definitions.map(({ hash, text }) => [hash, text] as const);
  writeJson("definitions.json", { ...readDefinitions(), ...Object.fromEntries(texts) });
};
