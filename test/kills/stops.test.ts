// A worker that stood still past its lease finds that its claim is another's.
import { describe, expect, it } from "vitest";
import type { PointName } from "./points.ts";
import { runRound, type Round } from "./stop-rounds.ts";

/** It appended nothing, started nothing, changed nothing, and said why. */
const expectGivenUp = (round: Round): void => {
  expect(round.faults).toEqual([]);
  expect(round.how).toBe("stood");
  expect(round.afterwards.filter(({ append }) => append === "ok")).toEqual([]);
  expect(round.afterwards.filter(({ dispatched }) => dispatched !== undefined)).toEqual([]);
  expect(round.lateEffects).toBe(0);
  expect(round.afterwards).toContainEqual(expect.objectContaining({ end: "lost" }));
  const notes = round.afterwards.flatMap(({ note }) => (note === undefined ? [] : [note]));
  expect(notes.join("\n")).toMatch(/task \w+/);
  expect(notes.join("\n")).toMatch(/fence|claim/);
  expect(round.figures).toMatchObject({ lost: 0, doubled: 0 });
};

describe("a worker that stands still past its lease", () => {
  const before: readonly (readonly [n: number, what: string])[] = [
    [2, "a reply of the model in hand"],
    [3, "the result of a write in hand"],
    [6, "words to end the turn with"],
  ];
  it.each(before)("before append %i, with %s: that append is refused, and nothing follows it", async (n) => {
    const round = await runRound({ point: "before append", n, signal: "SIGSTOP" });
    expectGivenUp(round);
    const [first] = round.afterwards.flatMap(({ append }) => (append === undefined ? [] : [append]));
    expect(first).toBe("not_owner");
  });

  const elsewhere: readonly (readonly [PointName, string])[] = [
    ["after announce", "starts no tool, although it had announced one"],
    ["before reply", "does not append the reply"],
    ["after effect", "does not append the result, which its owner has settled"],
    ["before release", "gives nothing back that is another's"],
  ];
  it.each(elsewhere)("%s: %s", async (point) => {
    expectGivenUp(await runRound({ point, n: 1, signal: "SIGSTOP" }));
  });

  it("anywhere: gives up", async () => {
    let round = await runRound({ afterMs: 20 });
    // By chance in the middle of a transaction, where nobody can take over until it goes on; or in the window below.
    while (round.how === "in a transaction" || round.inWindow) round = await runRound({ afterMs: 20 });
    expectGivenUp(round);
  });

  it("between its last check and the effect, in the one window that nothing closes: acts late, but once", async () => {
    const round = await runRound({ point: "before effect", n: 1, signal: "SIGSTOP" });
    expect(round).toMatchObject({ how: "stood", inWindow: true, lateEffects: 1, figures: { lost: 0, doubled: 0 } });
    expect(round.afterwards.filter(({ append }) => append === "ok")).toEqual([]);
    expect(round.afterwards).toContainEqual(expect.objectContaining({ end: "lost" }));
  });
});
