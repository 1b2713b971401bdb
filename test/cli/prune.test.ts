// Retention by the command line: what ended long ago goes, whole.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPlace, newestTask, type Place } from "./perdure.ts";

const endedTask = async (place: Place, objective: string): Promise<string> => {
  expect((await place.perdure("run", objective, "--mode", "oneShot")).code).toBe(0);
  return newestTask(place);
};

test("prune removes ended tasks older than an age, says which, and keeps the others", async () => {
  const place = createPlace();
  const ended = await endedTask(place, "a-word-of-the-old-task");
  await place.perdure("run", "hello");
  const open = await newestTask(place);

  expect(await place.perdure("prune", "--older-than", "1h")).toMatchObject({ code: 0, stdout: "" });
  const dry = await place.perdure("prune", "--older-than", "0s", "--dry-run");
  expect(dry).toMatchObject({ code: 0, stdout: `${ended}\n` });
  expect(dry.stderr).toContain("1 task would be pruned");
  expect((await place.perdure("show", ended)).code).toBe(0);

  const pruned = await place.perdure("prune", "--older-than", "0s", "--json");
  expect(JSON.parse(pruned.stdout)).toEqual({ pruned: [ended], dryRun: false });
  expect(await place.perdure("show", ended)).toMatchObject({ code: 1, stdout: "" });
  expect((await place.perdure("show", open)).code).toBe(0);
  expect((await place.perdure("prune", "--older-than", "0s")).stdout).toBe("");
  expect(await place.perdure("check")).toMatchObject({ code: 0 });
  expect(readFileSync(join(place.folder, ".perdure", "tasks.db"), "latin1")).not.toContain("a-word-of-the-old-task");
});

test("what was pruned after a backup is not in what is restored from it", async () => {
  const place = createPlace();
  const ended = await endedTask(place, "a-word-of-the-old-task");
  expect((await place.perdure("backup", "b.db")).code).toBe(0);
  expect((await place.perdure("prune", "--older-than", "0s")).stdout).toBe(`${ended}\n`);
  const restored = await place.perdure("restore", "b.db", "--replace");
  expect(restored.stderr).toContain("1 erasure made since the backup: made again");
  expect((await place.perdure("show", ended)).code).toBe(1);
  expect(readFileSync(join(place.folder, ".perdure", "tasks.db"), "latin1")).not.toContain("a-word-of-the-old-task");
  // At a place that has no journal of its own a copy is named, to which only what it lacks is added.
  for (const added of ["2 lines added", "0 lines added"]) {
    expect((await place.perdure("backup", "--erasures", "kept.jsonl")).stderr).toContain(added);
  }
  await place.perdure("restore", "b.db", "--db", "elsewhere.db", "--erasures", "kept.jsonl");
  expect((await place.perdure("show", ended, "--db", "elsewhere.db")).code).toBe(1);
});

test.each([
  [[], "prune needs --older-than"],
  [["--older-than", "soon"], '--older-than must be a whole number with s, m, h, d or w, such as 30d, not "soon"'],
  [["--older-than", "9999999999999999w"], "--older-than must be"],
])("prune %j is refused: %s", async (args, says) => {
  const place = createPlace();
  const refused = await place.perdure("prune", ...args);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain(says);
});
