// Three projects: unit (fast, part of `npm run check`), system (real processes and stores), long (`npm run test:long`).
import { defineConfig } from "vitest/config";
import type { Reporter } from "vitest/node";

const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  throw new Error(
    `The tests need Node 24 or newer; this is ${process.version}. Run them with "npm test" or "npm run".`,
  );
}

const quick = ["test/tidy.test.ts", "test/walls.test.ts", "test/promises/promises.test.ts"];

/** Ends a run with one plain line of counts, which CI reads. */
const closingLine: Reporter = {
  onTestRunEnd(modules) {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state] += 1;
      if (module.state() === "failed" && module.errors().length > 0) count.failed += 1;
    }
    console.log(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped + count.pending} skipped`);
  },
};

export default defineConfig({
  test: {
    reporters: [["default", { summary: false }], closingLine],
    pool: "forks",
    maxWorkers: "100%",
    projects: [
      { extends: true, test: { name: "unit", include: ["src/**/*.test.ts", ...quick], testTimeout: 60_000 } },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: quick,
          globalSetup: "test/postgres/global-setup.ts",
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: { name: "long", include: ["test/**/*.long.ts"], testTimeout: 1_800_000, hookTimeout: 120_000 },
      },
    ],
  },
});
