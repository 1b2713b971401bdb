// perdure restore: a database from a backup. Nothing goes on by itself in it.
import { resolve } from "node:path";
import type { Restored } from "../../store/backup.ts";
import { restoreDatabase } from "../../store/sqlite/restore.ts";
import { isPostgresUrl } from "../../stores.ts";
import { defineCommand, UsageError } from "../command.ts";
import { counted, findingLine, verifyStore } from "../database.ts";
import { CommandError } from "../failure.ts";
import type { Program } from "../program.ts";
import { loadSettings, makeFolder } from "../session.ts";

const tell = ({ output }: Program, restored: Restored, recovered: boolean): void => {
  const { path, backupAt, epoch, open, erased, unreadable, aside } = restored;
  const as = recovered ? "goes on as of" : "restored from a backup of";
  output.tell(`${path}: ${as} ${new Date(backupAt).toISOString()}, epoch ${String(epoch)}`);
  if (aside !== null) output.tell(`${isPostgresUrl(path) ? "the schema" : "the database"} that was there is ${aside}`);
  if (erased > 0) output.tell(`${counted(erased, "erasure")} made since the backup: made again`);
  if (unreadable > 0) output.tell(`${counted(unreadable, "line")} of the journal of erasures cannot be read`);
  if (open === 0) return;
  output.tell(`${counted(open, "open task")}: what they did after the backup is not in their logs, and may have`);
  output.tell("happened. Each pauses before it goes on; look, then resume it");
};

interface Asked {
  /** Null: other tools have set the database back. */
  readonly from: string | null;
  readonly db: string;
  readonly replace: boolean;
  readonly erasures: string | undefined;
}

const perform = async (program: Program, { from, db, replace, erasures }: Asked): Promise<Restored> => {
  const given = { verify: verifyStore(program), ...(erasures === undefined ? {} : { erasures }) };
  if (isPostgresUrl(db)) {
    const { recoverDatabase, restoreDatabase: restorePostgres } = await import("../../store/postgres/restore.ts");
    return from === null
      ? recoverDatabase({ url: db, ...given })
      : restorePostgres({ url: db, from, replace, ...given });
  }
  if (from === null) {
    throw new CommandError("--recovered is for Postgres; put a copied file through perdure restore <file>");
  }
  makeFolder(db);
  return restoreDatabase({ path: db, from, replace, ...given });
};

export const restore = defineCommand({
  name: "restore",
  summary: "make the database from a backup",
  words: { file: "optional" },
  options: {
    replace: { type: "boolean", about: "move a database that is there aside" },
    recovered: { type: "boolean", about: "no file: other tools have set this Postgres database back" },
    erasures: {
      type: "string",
      value: "FILE",
      about: "a journal of erasures that stands elsewhere than the database's own",
    },
  },
  notes: [
    "Stop the workers first: a database that another process has open is not replaced. What was redacted or pruned after",
    "the backup is gone from the restored database too. Every open task pauses before it goes on, approvals are void, and",
    "actions that were under way are unknown. Killed half-way, it can be run again.",
  ].join("\n"),
  perform: async (program, { options, words: { file } }) => {
    const { output, cwd } = program;
    const recovered = options.recovered === true;
    if ((file === undefined) !== recovered) throw new UsageError("restore needs <file>, or --recovered and none");
    const { db } = (await loadSettings(program, options)).settings;
    const restored = await perform(program, {
      from: file === undefined ? null : resolve(cwd, file),
      db,
      replace: options.replace === true,
      erasures: options.erasures === undefined ? undefined : resolve(cwd, options.erasures),
    });
    if (options.json === true) output.json(restored);
    else for (const finding of restored.findings) output.print(findingLine(finding));
    tell(program, restored, recovered);
    return restored.findings.length === 0 ? 0 : 1;
  },
});
