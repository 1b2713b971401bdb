// Mutation testing of the core, claims and recovery: runs Stryker, and writes docs/mutants.md from its report. What survives
// has its reason in test/mutants/survivors.ts; one without is named, and fails the run. `--report FILE …`: of reports that are there.
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { format, resolveConfig } from "prettier";
import { reasonFor } from "../test/mutants/survivors.ts";

const root = join(import.meta.dirname, "..");
const page = join(root, "docs/mutants.md");
const BAR = 0.85;

interface Mutant {
  readonly status: "Killed" | "Timeout" | "Survived" | "NoCoverage" | "CompileError" | "RuntimeError" | "Ignored";
  readonly replacement?: string;
  readonly location: { readonly start: Position; readonly end: Position };
}

interface Position {
  readonly line: number;
  readonly column: number;
}

interface Report {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>;
}

interface Survivor {
  readonly line: number;
  readonly code: string;
  readonly replacements: readonly string[];
  readonly why: string | null;
}

interface Counts {
  readonly killed: number;
  readonly timedOut: number;
  readonly survived: number;
}

interface Measured extends Counts {
  readonly file: string;
  readonly survivors: readonly Survivor[];
}

const ALIVE = new Set(["Survived", "NoCoverage"]);

const survivorsOf = (file: string, source: string, mutants: readonly Mutant[]): Survivor[] => {
  const lines = source.split("\n");
  const byLine = Map.groupBy(
    mutants.filter(({ status }) => ALIVE.has(status)),
    ({ location }) => location.start.line,
  );
  return [...byLine]
    .sort(([a], [b]) => a - b)
    .map(([line, alive]) => {
      const code = (lines[line - 1] ?? "").trim();
      const replacements = alive.map(({ replacement = "" }) => replacement.replaceAll(/\s+/g, " "));
      return { line, code, replacements, why: reasonFor(file, code) };
    });
};

const measuredOf = ({ files }: Report): Measured[] =>
  Object.entries(files).map(([file, { source, mutants }]) => {
    const count = (...of: Mutant["status"][]): number => mutants.filter(({ status }) => of.includes(status)).length;
    const [killed, timedOut, survived] = [count("Killed"), count("Timeout"), count("Survived", "NoCoverage")];
    return { file, killed, timedOut, survived, survivors: survivorsOf(file, source, mutants) };
  });

const total = (measured: readonly Counts[]): Counts => ({
  killed: measured.reduce((sum, each) => sum + each.killed, 0),
  timedOut: measured.reduce((sum, each) => sum + each.timedOut, 0),
  survived: measured.reduce((sum, each) => sum + each.survived, 0),
});

const scoreOf = ({ killed, timedOut, survived }: Counts): number => {
  const all = killed + timedOut + survived;
  return all === 0 ? 1 : (killed + timedOut) / all;
};

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("`", "'");

const row = (name: string, counts: Counts): string => {
  const { killed, timedOut, survived } = counts;
  return `| ${name} | ${[killed + timedOut + survived, killed, timedOut, survived].join(" | ")} | ${percent(scoreOf(counts))} |`;
};

const shortened = (text: string): string => (text.length > 70 ? `${text.slice(0, 67)}…` : text);

const pageOf = (measured: readonly Measured[]): string => {
  const survivors = measured.filter((each) => each.survivors.length > 0);
  return [
    "# Mutants that no test notices",
    "Made by `npm run test:long -- --mutants`: Stryker changes the core, claims and recovery in small ways, one at a time, and runs the unit tests that reach the place. What runs while a module loads is left out. A mutant that makes a test wait for ever is noticed by the clock.",
    [
      "| file | mutants | killed | by the clock | survived | noticed |",
      "| --- | --- | --- | --- | --- | --- |",
      ...measured.map((each) => row(each.file, each)),
      row("**all**", total(measured)),
    ].join("\n"),
    "## Survivors, and why they stay",
    ...survivors.map((each) =>
      [
        `### ${each.file}\n`,
        "| line | code | unnoticed in its place | why |",
        "| --- | --- | --- | --- |",
        ...each.survivors.map(({ line, code, replacements, why }) => {
          const others = [...new Set(replacements)].map((text) => `\`${cell(shortened(text))}\``).join(", ");
          return `| ${String(line)} | \`${cell(shortened(code))}\` | ${others} | ${cell(why ?? "**no reason**")} |`;
        }),
      ].join("\n"),
    ),
  ].join("\n\n");
};

const { values } = parseArgs({ options: { report: { type: "string", multiple: true } } });
let reports = values.report;
if (reports === undefined) {
  const stryker = join(root, "node_modules/@stryker-mutator/core/bin/stryker.js");
  const { status } = spawnSync(process.execPath, [stryker, "run"], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
  reports = [join(root, "coverage/mutants-report.json")];
}
const measured: Measured[] = [];
for (const report of reports) measured.push(...measuredOf(JSON.parse(await readFile(report, "utf8")) as Report));
measured.sort((a, b) => (a.file < b.file ? -1 : 1));
await writeFile(page, await format(`${pageOf(measured)}\n`, { ...(await resolveConfig(page)), parser: "markdown" }));
const all = total(measured);
const unexplained = measured.flatMap(({ file, survivors }) =>
  survivors.filter(({ why }) => why === null).map(({ line, code }) => `${file}:${String(line)}: ${code}`),
);
for (const each of unexplained) console.log(`no reason for what survives at ${each}`);
console.log(`${percent(scoreOf(all))} of ${String(all.killed + all.timedOut + all.survived)} mutants are noticed`);
if (scoreOf(all) < BAR || unexplained.length > 0) process.exitCode = 1;
