// Commands on the database as a whole: what a copy of it holds is checked log by log.
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { checkTask } from "../client/check-task.ts";
import { everyTask } from "../client/every-task.ts";
import { nodeHasher } from "../store/node-hasher.ts";
import type { Finding, Store } from "../store/store.ts";
import { isPostgresUrl } from "../stores.ts";
import { CommandError } from "./failure.ts";
import type { Program } from "./program.ts";

/** Throws CommandError for a file that is not there. */
export const requireThere = ({ cwd }: Program, db: string): void => {
  if (!isPostgresUrl(db) && !existsSync(db)) throw new CommandError(`there is no database at ${relative(cwd, db)}`);
};

/** All that is wrong with a store: its pages and counters, then each log. */
export const verifyStore =
  ({ output }: Program) =>
  async (store: Store): Promise<readonly Finding[]> => {
    const findings: Finding[] = [...(await store.check())];
    for await (const { taskId } of everyTask(store)) {
      output.progress(`  checks ${taskId}`);
      findings.push(...(await checkTask({ store, hasher: nodeHasher }, { taskId })));
    }
    return findings;
  };

export const findingLine = ({ taskId, seq, what }: Finding): string => {
  const where = [...(taskId === "" ? [] : [`task ${taskId}`]), ...(seq === null ? [] : [`seq ${String(seq)}`])];
  return where.length === 0 ? what : `${where.join(" ")}: ${what}`;
};

export const counted = (count: number, word: string): string => `${String(count)} ${word}${count === 1 ? "" : "s"}`;
