// perdure restore: a database from a backup. Nothing goes on by itself in it.
import { resolve } from "node:path";
import type { Restored } from "../../store/backup.ts";
import { restoreDatabase } from "../../store/sqlite/restore.ts";
import { defineCommand } from "../command.ts";
import { counted, findingLine, requireFile, verifyStore } from "../database.ts";
import type { Program } from "../program.ts";
import { loadSettings, makeFolder } from "../session.ts";

const tell = ({ output }: Program, restored: Restored): void => {
  const { path, backupAt, epoch, open, erased, unreadable, aside } = restored;
  output.tell(`${path}: restored from a backup of ${new Date(backupAt).toISOString()}, epoch ${String(epoch)}`);
  if (aside !== null) output.tell(`the database that was there is ${aside}`);
  if (erased > 0) output.tell(`${counted(erased, "erasure")} made since the backup: made again`);
  if (unreadable > 0) output.tell(`${counted(unreadable, "line")} of the journal of erasures cannot be read`);
  if (open === 0) return;
  output.tell(`${counted(open, "open task")}: what they did after the backup is not in their logs, and may have`);
  output.tell("happened. Each pauses before it goes on; look, then resume it");
};

export const restore = defineCommand({
  name: "restore",
  summary: "make the database from a backup",
  words: { file: "required" },
  options: {
    replace: { type: "boolean", about: "move a database that is there aside" },
    erasures: {
      type: "string",
      value: "FILE",
      about: "a journal of erasures that stands elsewhere than <db>.erasures",
    },
  },
  notes: [
    "Stop the workers first: a database that another process has open is not replaced. What was redacted or pruned after",
    "the backup is gone from the restored database too. Every open task pauses before it goes on, approvals are void, and",
    "actions that were under way are unknown. Killed half-way, it can be run again.",
  ].join("\n"),
  perform: async (program, { options, words: { file } }) => {
    const { output, cwd } = program;
    const { db } = (await loadSettings(program, options)).settings;
    requireFile(db);
    makeFolder(db);
    const { erasures } = options;
    const restored = await restoreDatabase({
      from: resolve(cwd, file),
      path: db,
      replace: options.replace === true,
      verify: verifyStore(program),
      ...(erasures === undefined ? {} : { erasures: resolve(cwd, erasures) }),
    });
    if (options.json === true) output.json(restored);
    else for (const finding of restored.findings) output.print(findingLine(finding));
    tell(program, restored);
    return restored.findings.length === 0 ? 0 : 1;
  },
});
