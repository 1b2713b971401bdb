// The tests that mutants of the core, of claims and of recovery are run against: quick ones, nothing with a process.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: [
      "src/core/**/*.test.ts",
      "src/runner/**/*.test.ts",
      "src/store/sqlite/{sqlite-store,store-clock}.test.ts",
    ],
    pool: "forks",
  },
});
