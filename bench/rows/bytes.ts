// What a log takes on disk, against the JSON of its events.
import { figureOf } from "../figures.ts";
import { atMost, type Bench, type Row } from "../row.ts";
import { fileBytes, openStore, storePath } from "../sqlite-files.ts";
import { runLoop } from "../steady-loop.ts";

const OUTPUT_CHARS = 1_000;
const FEW = 1_000;
const MANY = 4_000;
const PER_EVENT = 150;

interface Stored {
  readonly events: number;
  readonly json: number;
  /** On disk, less what an empty database takes. */
  readonly bytes: number;
}

const emptyBytes = async (bench: Bench): Promise<number> => {
  const folder = bench.folder();
  await (await openStore(folder)).close();
  return fileBytes(storePath(folder));
};

const storedBy = async (bench: Bench, cycles: number, snapshots: boolean): Promise<Stored> => {
  bench.progress(`bytes: ${String(cycles)} cycles, snapshots ${snapshots ? "on" : "off"}`);
  const empty = await emptyBytes(bench);
  const folder = bench.folder();
  const store = await openStore(folder);
  await runLoop(store, { cycles, outputChars: OUTPUT_CHARS, snapshots });
  const { types } = await store.stats();
  await store.close();
  return {
    events: types.reduce((sum, type) => sum + type.events, 0),
    json: types.reduce((sum, type) => sum + type.bytes, 0),
    bytes: fileBytes(storePath(folder)) - empty,
  };
};

const beyondJson = ({ bytes, json, events }: Stored): number => (bytes - json) / events;
const perEvent = ({ bytes, events }: Stored): number => bytes / events;
const one = (value: number) => figureOf([value]);

export const bytes: Row = {
  name: "bytes",
  async measure(bench) {
    const few = await storedBy(bench, FEW, false);
    const many = await storedBy(bench, MANY, false);
    const withSnapshots = await storedBy(bench, MANY, true);
    const ofJson = "the events' JSON";
    return {
      floors: [{ what: `events' JSON, ${String(MANY)} cycles`, unit: "bytes", figure: one(many.json) }],
      results: [
        {
          what: `a log on disk, ${String(MANY)} cycles`,
          unit: "bytes",
          figure: one(many.bytes),
          ratio: { of: ofJson, figure: one(many.bytes / many.json) },
          bar: atMost(1.5),
          note: `outputs of ${String(OUTPUT_CHARS)} characters; ${String(many.events)} events; without snapshots.`,
        },
        {
          what: "on disk beyond the JSON",
          unit: "bytes an event",
          figure: one(beyondJson(many)),
          bar: atMost(PER_EVENT, "bytes"),
        },
        {
          what: `bytes an event, ${String(MANY)} cycles`,
          unit: "bytes",
          figure: one(perEvent(many)),
          ratio: { of: `those of ${String(FEW)} cycles`, figure: one(perEvent(many) / perEvent(few)) },
          bar: atMost(1.05),
        },
        {
          what: "the same log with its snapshots",
          unit: "bytes",
          figure: one(withSnapshots.bytes),
          ratio: { of: ofJson, figure: one(withSnapshots.bytes / withSnapshots.json) },
          note: "the newest snapshot, and blank pages of those it replaced, which the next one uses.",
        },
      ],
    };
  },
};
