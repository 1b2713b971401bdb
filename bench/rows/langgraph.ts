// LangGraph on SQLite beside one task of ours: the same loop, the same durability.
import { figureOf, ratios } from "../figures.ts";
import { prepareRival } from "../rivals/rival.ts";
import { atLeast, type Row } from "../row.ts";
import { fileBytes, openStore, storePath } from "../sqlite-files.ts";
import { runLoop } from "../steady-loop.ts";

const ROUNDS = 3;
const STEPS = 1_000;
const STEPS_PER_CYCLE = 2;
const OUTPUT_CHARS = 500;

interface Told {
  readonly stepsPerSecond: number;
  readonly bytes: number;
}

export const langgraph: Row = {
  name: "langgraph",
  async measure(bench) {
    bench.progress("langgraph: installing it, where it is not yet");
    const runRival = await prepareRival("langgraph", { compiles: true });
    const [mine, theirs, bytes, theirBytes]: [number[], number[], number[], number[]] = [[], [], [], []];
    for (let round = 1; round <= ROUNDS; round += 1) {
      bench.progress(`langgraph: round ${String(round)} of ${String(ROUNDS)}`);
      const told = (await runRival(bench.folder(), String(STEPS), String(OUTPUT_CHARS))) as Told;
      theirs.push(told.stepsPerSecond);
      theirBytes.push(told.bytes);
      const folder = bench.folder();
      const store = await openStore(folder);
      const before = performance.now();
      await runLoop(store, { cycles: STEPS / STEPS_PER_CYCLE, outputChars: OUTPUT_CHARS });
      mine.push(STEPS / ((performance.now() - before) / 1_000));
      await store.close();
      bytes.push(fileBytes(storePath(folder)));
    }
    const what = `LangGraph 1.7.3 on SQLite, one thread, ${String(STEPS)} steps`;
    return {
      floors: [
        { what, unit: "steps/s", figure: figureOf(theirs) },
        { what: "the same, on disk", unit: "bytes", figure: figureOf(theirBytes) },
      ],
      results: [
        {
          what: `one task, ${String(STEPS)} steps, from its creation on`,
          unit: "steps/s",
          figure: figureOf(mine),
          ratio: { of: "LangGraph", figure: figureOf(ratios(mine, theirs)) },
          bar: atLeast(1),
        },
        {
          what: "the same, on disk",
          unit: "bytes",
          figure: figureOf(bytes),
          ratio: { of: "LangGraph", figure: figureOf(ratios(bytes, theirBytes)) },
        },
      ],
    };
  },
};
