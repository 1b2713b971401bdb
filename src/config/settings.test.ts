import { expect, test } from "vitest";
import type { Config } from "./config.ts";
import { resolveSettings, type Flags, type ProgramSettings } from "./settings.ts";

const resolve = (flags: Flags, env: NodeJS.ProcessEnv = {}, config: Config = {}): ProgramSettings =>
  resolveSettings({ flags, env, loaded: { config, path: "/home/p/perdure.config.ts" }, cwd: "/home/p/deep" });

test("without any, the database stands beside the configuration and tools work in this folder", () => {
  expect(resolve({})).toMatchObject({
    db: "/home/p/.perdure/tasks.db",
    workspace: "/home/p/deep",
    leaseMs: 5_000,
    as: expect.stringMatching(/^local:./),
    model: undefined,
    mode: undefined,
  });
  const loaded = { config: {}, path: null };
  expect(resolveSettings({ flags: {}, env: {}, loaded, cwd: "/x" }).db).toBe("/x/.perdure/tasks.db");
});

test("flags win over variables, variables over the configuration; an empty variable is none", () => {
  const config = { db: "c.db", leaseMs: 700 };
  expect(resolve({}, {}, config)).toMatchObject({ db: "/home/p/c.db", leaseMs: 700 });
  expect(resolve({}, { PERDURE_DB: "e.db", PERDURE_LEASE_MS: "800" }, config)).toMatchObject({
    db: "/home/p/deep/e.db",
    leaseMs: 800,
  });
  expect(resolve({ db: "f.db", "lease-ms": "900" }, { PERDURE_DB: "e.db" }, config)).toMatchObject({
    db: "/home/p/deep/f.db",
    leaseMs: 900,
  });
  expect(resolve({}, { PERDURE_DB: "" }, config).db).toBe("/home/p/c.db");
});

test("the configuration's model stands behind an agent's own, so it is not among these", () => {
  expect(resolve({}, {}, { model: "configured" }).model).toBeUndefined();
  expect(resolve({}, { PERDURE_MODEL: "e" }, { model: "configured" }).model).toBe("e");
});

test("a bare name is a user of this system", () => {
  expect(resolve({ as: "alice" }).as).toBe("local:alice");
  expect(resolve({ as: "discord:1234" }).as).toBe("discord:1234");
});

test.each([
  [{ "max-steps": "1e3" }, '--max-steps must be a whole number of at least 1, not "1e3"'],
  [{ "lease-ms": "5" }, '--lease-ms must be a whole number of at least 100, not "5"'],
  [{ mode: "oneshot" }, '--mode must be conversation or run or oneShot, not "oneshot"'],
  [{ as: "" }, '--as must be a name or kind:id, not ""'],
  [
    { db: "mysql://h/d" },
    "--db takes the path of a SQLite file, or a postgres:// URL: mysql:// is not a scheme that it knows",
  ],
  [
    { db: "file:t.db" },
    "--db takes the path of a SQLite file, or a postgres:// URL: file: is not a scheme that it knows",
  ],
])("%j is refused with a line that names it", (flags: Flags, says) => {
  expect(() => resolve(flags)).toThrow(says);
});

test("a URL of Postgres is kept as it is", () => {
  expect(resolve({ db: "postgresql://u:p@h/d?schema=s" }).db).toBe("postgresql://u:p@h/d?schema=s");
});

test("a path with a colon in it is a path", () => {
  expect(resolve({ db: "a:b.db" }).db).toBe("/home/p/deep/a:b.db");
});

test("idle conversations are closed after a time with a unit, and never where none is given", () => {
  expect(resolve({}).closeIdleAfter).toBeUndefined();
  expect(resolve({}, {}, { closeIdleAfter: "30d" }).closeIdleAfter).toBe(30 * 86_400_000);
  expect(resolve({}, { PERDURE_CLOSE_IDLE_AFTER: "2h" }, { closeIdleAfter: "30d" }).closeIdleAfter).toBe(7_200_000);
  for (const text of ["0s", "30", "-1d", "1.5h"]) {
    expect(() => resolve({ "close-idle-after": text })).toThrow(
      "--close-idle-after must be a whole number with s, m, h",
    );
  }
});
