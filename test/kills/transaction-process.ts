// Runs one job on one database and dies right before the n-th statement of it: node transaction-process.ts <job> <path>
// <n>. Statements of scripts (migrations) count too: SQLite asks for leave when it comes to each. The last place to die is
// after the last statement, before anybody is told. Tells how many there were when it came to its end.
import { writeSync } from "node:fs";
import { DatabaseSync, StatementSync, constants } from "node:sqlite";
import { jobs, openStill, type JobName } from "./transaction-jobs.ts";

const [job = "", path = "", n = "0"] = process.argv.slice(2);

let passed = 0;
let counting = false;
const pass = (): void => {
  if (!counting) return;
  passed += 1;
  if (passed === Number(n)) process.kill(process.pid, "SIGKILL");
};

const { SQLITE_CREATE_INDEX, SQLITE_CREATE_TABLE, SQLITE_PRAGMA, SQLITE_TRANSACTION } = constants;
const beginning = new Set([SQLITE_CREATE_INDEX, SQLITE_CREATE_TABLE, SQLITE_PRAGMA, SQLITE_TRANSACTION]);

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Has `before` run ahead of each call of a method. */
const precede = (prototype: object, name: string, before: (self: unknown) => void): void => {
  const methods = prototype as Record<string, Method>;
  const method = methods[name];
  if (method === undefined) throw new Error(`there is no ${name}`);
  methods[name] = function precede(...args) {
    before(this);
    return method.apply(this, args);
  };
};

for (const name of ["run", "get", "all", "iterate"]) precede(StatementSync.prototype, name, pass);
let inScript = false;
const asked = new WeakSet<object>();
const exec = DatabaseSync.prototype.exec;
DatabaseSync.prototype.exec = function script(sql) {
  if (!asked.has(this)) {
    asked.add(this);
    this.setAuthorizer((action) => {
      if (inScript && beginning.has(action)) pass();
      return constants.SQLITE_OK;
    });
  }
  inScript = true;
  try {
    exec.call(this, sql);
  } finally {
    inScript = false;
  }
};

if (job === "making") {
  counting = true;
  const store = await openStill(path);
  pass();
  counting = false;
  await store.close();
} else {
  const store = await openStill(path, 1_000);
  counting = true;
  await jobs[job as JobName].run(store);
  pass();
  counting = false;
  await store.close();
}
writeSync(1, String(passed));
