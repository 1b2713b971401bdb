// Writes docs/promises.md from test/promises/promises.ts: `npm run promises`.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { isKept, type Promised } from "../test/promises/promise.ts";
import { promises } from "../test/promises/promises.ts";

export const promisesPath = join(import.meta.dirname, "../docs/promises.md");

const cell = (text: string): string => text.replaceAll("|", "\\|");

const shownBy = (promised: Promised): string =>
  isKept(promised) ? `\`${promised.test.file}\`: ${cell(promised.test.name)}` : "";

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
    "Made by `npm run promises` from `test/promises/promises.ts`; a test fails when it is stale. Each kept one has a patch that breaks it: `npm run test:long -- --promises` puts them in one by one, and the named test must fail.",
    [
      `${counted((status) => status === "kept")} kept,`,
      `${counted((status) => status.startsWith("later"))} later, ${counted((status) => status.startsWith("n/a"))} not applicable.`,
    ].join(" "),
    ...tables,
  ].join("\n\n");
  return format(`${page}\n`, { ...(await resolveConfig(promisesPath)), parser: "markdown" });
};

if (import.meta.main) {
  await writeFile(promisesPath, await promisesPage());
  console.log(`${String(promises.length)} promises, ${String(promises.filter(isKept).length)} kept`);
}
