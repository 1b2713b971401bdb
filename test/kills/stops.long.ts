// The same as stops.test.ts, for long: 50 workers that stand still past their lease, at any moment.
import { expect, it } from "vitest";
import { createChance } from "../../src/testing/simulation/chance.ts";
import { pointNames } from "./points.ts";
import { runRound, type Round, type Stop } from "./stop-rounds.ts";

const ROUNDS = 50;
/** Points that every turn comes by, but for the one in the documented window. */
const passed = pointNames.filter((point) => !/verify|snapshot|release|before effect/.test(point));

it("50 workers that stand still past their lease append nothing and start nothing afterwards", async () => {
  const chance = createChance(Date.now() % 2 ** 32);
  const rounds: Round[] = [];
  let inTransaction = 0;
  let inWindow = 0;
  while (rounds.length < ROUNDS) {
    const point = passed[chance.below(passed.length)] ?? "before append";
    const named: Stop = { point, n: 1 + chance.below(point === "after claim" ? 1 : 4), signal: "SIGSTOP" };
    const round = await runRound(chance.below(2) === 0 ? named : { afterMs: chance.below(120) });
    if (round.inWindow) {
      inWindow += 1;
      continue;
    }
    expect(round.faults, JSON.stringify(round.stop)).toEqual([]);
    if (round.how === "stood") rounds.push(round);
    if (round.how === "in a transaction") inTransaction += 1;
  }
  const all = rounds.flatMap(({ afterwards }) => afterwards);
  // At a random moment it may stand between a commit and the word of it, or between its last check and a handler.
  const named = rounds.filter(({ stop }) => "point" in stop).flatMap(({ afterwards }) => afterwards);
  const refused = all.filter(({ append }) => append === "not_owner").length;
  const sum = (of: (round: Round) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  const figures = {
    ...{
      rounds: ROUNDS,
      inTransaction,
      inWindow,
      refused,
      appended: named.filter(({ append }) => append === "ok").length,
    },
    started: named.filter(({ dispatched }) => dispatched !== undefined).length,
    ...{ effects: sum(({ lateEffects }) => lateEffects), said: all.filter(({ end }) => end === "lost").length },
    ...{ unknown: sum((round) => round.figures.unknown), lost: sum((round) => round.figures.lost) },
    doubled: sum((round) => round.figures.doubled),
  };
  console.log(`stood still past the lease: ${JSON.stringify(figures)}`);
  expect(figures).toMatchObject({ appended: 0, started: 0, effects: 0, said: ROUNDS, lost: 0, doubled: 0 });
  expect(refused).toBeGreaterThan(0);
});
