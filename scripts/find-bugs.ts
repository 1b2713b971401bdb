// The rig tests itself: puts each known bug into a copy of the sources and lets the simulation find it.
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { bugs, type Bug } from "../test/bugs/bugs.ts";

const SEEDS = 2_000;
const root = resolve(import.meta.dirname, "..");

interface Found {
  readonly bug: string;
  readonly seed: number | null;
  readonly seconds: number;
  readonly says: string;
}

const putIn = async (copy: string, { name, file, also, ...first }: Bug): Promise<void> => {
  const path = join(copy, file);
  let source = await readFile(path, "utf8");
  for (const { find, replace } of also === undefined ? [first] : [first, also]) {
    const pieces = source.split(find);
    if (pieces.length !== 2) throw new Error(`the patch "${name}" fits ${String(pieces.length - 1)} times in ${file}`);
    source = pieces.join(replace);
  }
  await writeFile(path, source);
};

const find = async (bug: Bug): Promise<Found> => {
  const copy = await mkdtemp(join(tmpdir(), "perdure-bug-"));
  try {
    for (const part of ["src", "scripts", "test/bugs", "package.json"]) {
      await cp(join(root, part), join(copy, part), { recursive: true });
    }
    await symlink(join(root, "node_modules"), join(copy, "node_modules"));
    await putIn(copy, bug);
    const begin = performance.now();
    const args = [join(copy, "scripts/simulate.ts"), "--first", "--from", "0", "--seeds", String(SEEDS)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: copy, maxBuffer: 1 << 26 });
    const { seed, says } = JSON.parse(stdout) as { seed: number | null; says: string };
    return { bug: bug.name, seed, seconds: (performance.now() - begin) / 1_000, says };
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
};

const only = process.argv[2];
let missed = 0;
console.log("| bug | found by seed | after | what it said |\n|---|---|---|---|");
for (const bug of bugs) {
  if (only !== undefined && !bug.name.includes(only)) continue;
  const { seed, seconds, says } = await find(bug);
  if (seed === null) missed += 1;
  console.log(`| ${bug.name} | ${seed === null ? "NOT FOUND" : String(seed)} | ${seconds.toFixed(1)} s | ${says} |`);
}
if (missed > 0) process.exitCode = 1;
