// One process for one database file, with real processes: refused while another has it, taken over at once when that dies.
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createMemoryStore } from "../src/store/memory/store.ts";
import { createRuntime } from "../src/library/create-runtime.ts";
import { createScriptedModel } from "../src/model/scripted/scripted.ts";
import { InstanceHeld } from "../src/instance-lock.ts";
import { openSqliteStore } from "../src/stores.ts";
import { createPlace } from "./cli/perdure.ts";

const HELD = /another process holds .*tasks\.db\. One process alone may; stop the other one first/;

test("a second worker on the same file is refused, also through a symlink, and takes over at once after a kill", async () => {
  const place = createPlace();
  mkdirSync(join(place.folder, "real"));
  symlinkSync(join(place.folder, "real"), join(place.folder, "linked"));
  const first = place.start(["worker", "--single", "--db", "real/tasks.db"]);
  await first.said("works");
  for (const db of ["real/tasks.db", "linked/tasks.db", join(place.folder, "linked", "tasks.db")]) {
    const second = await place.perdure("worker", "--single", "--db", db);
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toMatch(HELD);
  }
  // Whoever was not told to be alone may work beside it, and another file is another root.
  expect((await place.perdure("run", "hello", "--db", "real/tasks.db")).code).toBe(0);
  const other = place.start(["worker", "--single", "--db", "real/other.db"]);
  await other.said("works");
  first.signal("SIGKILL");
  expect((await first.finished).signal).toBe("SIGKILL");
  const next = place.start(["worker", "--single", "--db", "linked/tasks.db"]);
  await next.said("works");
  for (const running of [next, other]) {
    running.signal("SIGTERM");
    expect((await running.finished).code).toBe(0);
  }
});

test("a second process is refused before it opens the database, and makes none", async () => {
  const place = createPlace();
  place.write(
    "perdure.config.ts",
    `import { lockInstance } from "perdure";
await lockInstance("tasks.db");
process.stderr.write("locked\\n");
await new Promise((resolve) => process.stdin.once("data", resolve));
export default {};`,
  );
  const holder = place.start(["tasks"]);
  await holder.said("locked");
  const second = await createBeside(place.folder);
  expect(second.stderr).toMatch(HELD);
  expect(existsSync(join(place.folder, "tasks.db"))).toBe(false);
  holder.answer();
  await holder.finished;
});

/** A worker that has no configuration of its own, on the database beside the one that has. */
const createBeside = async (folder: string) => {
  const place = createPlace();
  return place.perdure("worker", "--single", "--db", join(folder, "tasks.db"));
};

test("start, and a configuration, hold a file too; Postgres has no file to hold", async () => {
  const place = createPlace();
  place.write("perdure.config.ts", "export default { singleProcess: true, db: 'tasks.db' };");
  const worker = place.start(["worker"]);
  await worker.said("works");
  expect((await place.perdure("start")).stderr).toMatch(HELD);
  expect((await place.perdure("worker")).stderr).toMatch(HELD);
  worker.signal("SIGTERM");
  await worker.finished;
  expect((await place.perdure("start", "--single")).code).toBe(0);
  const postgres = await place.perdure("worker", "--single", "--db", "postgres://127.0.0.1:1/none");
  expect(postgres.code).toBe(2);
  expect(postgres.stderr).toContain("--single is for a database file");
});

test("a program's store and runtime hold it, in one process together, until both are closed", async () => {
  const place = createPlace();
  const db = join(place.folder, "tasks.db");
  const store = await openSqliteStore({ path: db, singleProcess: true });
  const options = {
    store,
    agents: [{ name: "a", model: "lines" }] as const,
    models: { lines: createScriptedModel({ name: "lines", lines: [] }) },
    singleProcess: true,
  };
  const runtime = await createRuntime(options);
  const refused = async () => expect((await place.perdure("worker", "--single", "--db", db)).stderr).toMatch(HELD);
  await refused();
  await runtime.close();
  await refused();
  await store.close();
  const worker = place.start(["worker", "--single", "--db", db]);
  await worker.said("works");
  await expect(openSqliteStore({ path: db, singleProcess: true })).rejects.toThrow(InstanceHeld);
  const again = await openSqliteStore({ path: db });
  await expect(createRuntime({ ...options, store: again })).rejects.toThrow(InstanceHeld);
  await again.close();
  worker.signal("SIGTERM");
  await worker.finished;
});

test("a store in no file cannot be held", async () => {
  const options = { store: createMemoryStore(), agents: [{ name: "a" }] as const, singleProcess: true };
  await expect(createRuntime(options)).rejects.toThrow("singleProcess is for a store in a file; memory is none");
});
