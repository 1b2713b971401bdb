// What takes longer than a test run: `npm run test:long`, or a part of it: `-- --bugs`, `-- --seeds 50000`, `-- --files`,
// `-- --promises`, `-- --mutants` (mutation testing of the core, claims and recovery: mutants.ts).
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    bugs: { type: "boolean" },
    seeds: { type: "string" },
    files: { type: "boolean" },
    mutants: { type: "boolean" },
    promises: { type: "boolean" },
  },
});
const everything = Object.keys(values).length === 0;
const here = import.meta.dirname;

const parts: readonly (readonly [name: string, wanted: boolean, args: readonly string[]])[] = [
  ["seeds", values.seeds !== undefined, [join(here, "simulate.ts"), "--seeds", values.seeds ?? "50000"]],
  ["bugs put in on purpose", values.bugs === true, [join(here, "find-bugs.ts")]],
  ["promises broken on purpose", values.promises === true, [join(here, "break-promises.ts")]],
  ["mutants", values.mutants === true, [join(here, "mutants.ts")]],
  ["long tests", values.files === true, [join(here, "../node_modules/vitest/vitest.mjs"), "run", "--project", "long"]],
];

let failed = 0;
let passed = 0;
for (const [name, wanted, args] of parts) {
  if (!everything && !wanted) continue;
  console.log(`\n# ${name}`);
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status === 0) passed += 1;
  else failed += 1;
}
console.log(`\n${String(passed)} passed, ${String(failed)} failed`);
if (failed > 0) process.exitCode = 1;
