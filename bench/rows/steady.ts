// The steady loop, and steps per second of one task.
import { figureOf, ratios } from "../figures.ts";
import { openRawCommits } from "../raw-commits.ts";
import { atLeast, type Row } from "../row.ts";
import { openStore } from "../sqlite-files.ts";
import { costPerCycle, runLoop } from "../steady-loop.ts";

const ROUNDS = 9;
const COMMITS = 2_000;
const CYCLES = 800;
/** Cycles before the measurement: first pickup, and code that is not yet compiled. */
const WARM_UP = 50;
/** A model call and a tool call, each announced by one commit and recorded by the next. */
const STEPS_PER_CYCLE = 2;
const COMMITS_PER_CYCLE = 2;

export const steady: Row = {
  name: "steady",
  async measure(bench) {
    const folder = bench.folder();
    const raw = openRawCommits(folder);
    const store = await openStore(folder);
    const commits: number[] = [];
    const cycles: number[] = [];
    raw.run(COMMITS);
    await runLoop(store, { cycles: CYCLES });
    for (let round = 1; round <= ROUNDS; round += 1) {
      bench.progress(`steady: round ${String(round)} of ${String(ROUNDS)}`);
      const before = raw.run(COMMITS / 2);
      const loop = await runLoop(store, { cycles: CYCLES });
      const after = raw.run(COMMITS / 2);
      commits.push(2 / (1 / before + 1 / after));
      cycles.push(1_000 / costPerCycle(loop, WARM_UP, CYCLES));
    }
    raw.close();
    await store.close();
    const halves = commits.map((perSecond) => perSecond / COMMITS_PER_CYCLE);
    const steps = cycles.map((perSecond) => perSecond * STEPS_PER_CYCLE);
    return {
      floors: [{ what: "SQLite FULL, one row a commit", unit: "commits/s", figure: figureOf(commits) }],
      results: [
        {
          what: "steady loop, one task",
          unit: "cycles/s",
          figure: figureOf(cycles),
          ratio: { of: "commits/s / 2", figure: figureOf(ratios(cycles, halves)) },
          bar: atLeast(0.6),
        },
        {
          what: "steps of one task",
          unit: "steps/s",
          figure: figureOf(steps),
          note:
            "a step is a model call or a tool call. Rivals on such a machine, not in this run: absurd 1,542, " +
            "Restate 1,189, DBOS 1,091, LangGraph 324 (Postgres) steps/s.",
        },
      ],
    };
  },
};
