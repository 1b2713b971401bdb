// Writes docs/promises.md from test/promises/promises.ts: `npm run promises`.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { promises, type Promised } from "../test/promises/promises.ts";

export const promisesPath = join(import.meta.dirname, "../docs/promises.md");

const cell = (text: string): string => text.replaceAll("|", "\\|");

const shownBy = ({ test, patch }: Promised): string => {
  if (test === undefined) return "";
  return `\`${test.file}\`: ${cell(test.name)}${patch === undefined ? "" : " (broken on purpose: it fails)"}`;
};

const counted = (of: (status: string) => boolean): string => String(promises.filter(({ status }) => of(status)).length);

/** The page, as it must stand in docs/promises.md. */
export const promisesPage = async (): Promise<string> => {
  const groups = Map.groupBy(promises, ({ about }) => about);
  const tables = [...groups].map(([about, rows]) => {
    const lines = rows.map((row) => `| ${cell(row.promise)} | ${row.status} | ${shownBy(row)} |`);
    return [`## ${about}`, "", "| promise | status | shown by |", "| --- | --- | --- |", ...lines].join("\n");
  });
  const page = [
    "# What is promised, and what shows it",
    "Made by `npm run promises` from `test/promises/promises.ts`; a test fails when it is stale. `npm run test:long -- --promises` breaks the code for each patch, and the named test must fail.",
    [
      `${counted((status) => status === "kept")} kept (${String(promises.filter(({ patch }) => patch !== undefined).length)} of them with a patch),`,
      `${counted((status) => status.startsWith("pending"))} pending,`,
      `${counted((status) => status.startsWith("later"))} later, ${counted((status) => status.startsWith("n/a"))} not applicable.`,
    ].join(" "),
    ...tables,
  ].join("\n\n");
  return format(`${page}\n`, { ...(await resolveConfig(promisesPath)), parser: "markdown" });
};

if (import.meta.main) {
  await writeFile(promisesPath, await promisesPage());
  const pending = promises.filter(({ status }) => status.startsWith("pending"));
  console.log(`${String(promises.length)} promises; pending: ${String(pending.length)}`);
  for (const { status, promise } of pending) console.log(`  ${status}: ${promise}`);
}
