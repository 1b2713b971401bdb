// Many workers, one after the other, that stand still past their lease, half of them at a named point and half at a random
// moment, and the figures of it.
import { createChance } from "../../src/testing/simulation/chance.ts";
import { pointNames } from "./points.ts";
import { runRound, type Round, type Stop } from "./stop-rounds.ts";

export interface Series {
  /** What was wrong, with where the worker stood. */
  readonly faults: readonly string[];
  readonly figures: {
    readonly rounds: number;
    readonly inTransaction: number;
    readonly inWindow: number;
    readonly refused: number;
    readonly appended: number;
    readonly started: number;
    readonly effects: number;
    readonly said: number;
    readonly unknown: number;
    readonly lost: number;
    readonly doubled: number;
  };
}

/** Points that every turn comes by, but for the one in the documented window. */
const passed = pointNames.filter((point) => !/verify|snapshot|release|before effect/.test(point));

/** On a file, or on the Postgres that `url` names. */
export const runStops = async (count: number, url?: string): Promise<Series> => {
  const chance = createChance(Date.now() % 2 ** 32);
  const [rounds, faults]: [Round[], string[]] = [[], []];
  let inTransaction = 0;
  let inWindow = 0;
  while (rounds.length < count) {
    const point = passed[chance.below(passed.length)] ?? "before append";
    const named: Stop = { point, n: 1 + chance.below(point === "after claim" ? 1 : 4), signal: "SIGSTOP" };
    const round = await runRound(chance.below(2) === 0 ? named : { afterMs: chance.below(120) }, url);
    if (round.inWindow) {
      inWindow += 1;
      continue;
    }
    faults.push(...round.faults.map((what) => `${JSON.stringify(round.stop)}: ${what}`));
    if (round.how === "stood") rounds.push(round);
    if (round.how === "in a transaction") inTransaction += 1;
  }
  const all = rounds.flatMap(({ afterwards }) => afterwards);
  // At a random moment it may stand between a commit and the word of it, or between its last check and a handler.
  const named = rounds.filter(({ stop }) => "point" in stop).flatMap(({ afterwards }) => afterwards);
  const sum = (of: (round: Round) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  const figures = {
    ...{ rounds: count, inTransaction, inWindow },
    refused: all.filter(({ append }) => append === "not_owner").length,
    appended: named.filter(({ append }) => append === "ok").length,
    started: named.filter(({ dispatched }) => dispatched !== undefined).length,
    effects: sum(({ lateEffects }) => lateEffects),
    said: rounds.filter(({ afterwards }) => afterwards.some(({ end }) => end === "lost")).length,
    unknown: sum((round) => round.figures.unknown),
    lost: sum((round) => round.figures.lost),
    doubled: sum((round) => round.figures.doubled),
  };
  return { faults, figures };
};
