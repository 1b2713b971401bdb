import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPlace, lines, viewOf, type Place } from "./perdure.ts";

const withTask = async (): Promise<{ place: Place; taskId: string; head: string }> => {
  const place = createPlace();
  place.write("a.txt", "hello world");
  place.write("s.jsonl", lines({ calls: [{ name: "Read", input: { file_path: "a.txt" } }] }, { text: "Hello." }));
  const { taskId, head } = viewOf(await place.perdure("run", "read it", "--model", "scripted:s.jsonl", "--json"));
  return { place, taskId, head };
};

/** Changes the file behind perdure's back. */
const tamper = (place: Place, sql: string): number => {
  const database = new DatabaseSync(join(place.folder, ".perdure/tasks.db"));
  try {
    return Number(database.prepare(sql).run().changes);
  } finally {
    database.close();
  }
};

const types = ["TaskCreated", "InputTaken", "ModelCalled", "ModelReplied", "ToolStarted", "ToolFinished", "Waiting"];

test("a whole database is found well, with the head that it has", async () => {
  const { place, taskId, head } = await withTask();
  const { code, stdout, stderr } = await place.perdure("check");
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toContain("1 task checked");
  expect((await place.perdure("check", taskId, "--expect", head)).code).toBe(0);
});

test.each(types)("one flipped byte in the content of a %s is found, and named by task and seq", async (type) => {
  const { place, taskId } = await withTask();
  const event = `(SELECT event FROM events JOIN types USING (type) WHERE name = '${type}' ORDER BY seq LIMIT 1)`;
  const flipped = `CAST(replace(CAST(body AS TEXT), '":', '"; ') AS BLOB)`;
  expect(tamper(place, `UPDATE events SET body = ${flipped} WHERE event = ${event}`)).toBe(1);
  const { code, stdout } = await place.perdure("check");
  expect(code).toBe(1);
  expect(stdout).toMatch(new RegExp(`^task ${taskId} seq \\d+: `));
});

test("a changed type and a changed seq are found", async () => {
  const changes = [
    "UPDATE events SET type = (SELECT type FROM types WHERE name = 'Compacted') WHERE seq = 4",
    "UPDATE events SET seq = 99 WHERE seq = 4",
  ];
  for (const change of changes) {
    const { place, taskId } = await withTask();
    expect(tamper(place, change)).toBe(1);
    const { code, stdout } = await place.perdure("check", taskId);
    expect(code).toBe(1);
    expect(stdout).toContain(`task ${taskId} seq 4: `);
  }
});

test("a cut tail is found against a known head, also when the row was cut with it", async () => {
  const { place, taskId, head } = await withTask();
  tamper(place, "DELETE FROM events WHERE seq = 12");
  tamper(place, "UPDATE tasks SET lastSeq = 11, head = (SELECT chain FROM events WHERE seq = 11)");
  const { code, stdout } = await place.perdure("check", taskId, "--expect", head);
  expect(code).toBe(1);
  expect(stdout).toContain(`task ${taskId}: no event has the head ${head}`);
});

test("a row and a projection that do not say what the log says are found", async () => {
  const { place, taskId } = await withTask();
  tamper(place, "UPDATE tasks SET outcome = 'failed'");
  tamper(place, "UPDATE usage SET calls = 1");
  const { code, stdout } = await place.perdure("check", "--json");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    tasks: 1,
    findings: [
      { taskId, seq: null, what: "its row's outcome is not as the log says" },
      { taskId, seq: null, what: "its projection row usage turn scripted:s.jsonl is not as the log says" },
    ],
  });
});
