// perdure backup: the whole database in one file, while workers go on; and the journal of erasures, which is in none.
import { resolve } from "node:path";
import type { Backup } from "../../store/backup.ts";
import { copyErasures, journalLines, journalPath } from "../../store/erasures.ts";
import { backupDatabase } from "../../store/sqlite/backup.ts";
import { isPostgresUrl } from "../../stores.ts";
import { defineCommand, UsageError } from "../command.ts";
import { counted, findingLine, requireThere, verifyStore } from "../database.ts";
import type { Program } from "../program.ts";
import { loadSettings } from "../session.ts";

const makeBackup = async (program: Program, db: string, to: string): Promise<Backup> => {
  const verify = verifyStore(program);
  if (!isPostgresUrl(db)) return backupDatabase({ path: db, to, verify });
  return (await import("../../store/postgres/backup.ts")).backupDatabase({ url: db, to, verify });
};

/** How many lines the file at `to` lacked. */
const copyJournal = async (db: string, to: string): Promise<number> => {
  if (!isPostgresUrl(db)) return copyErasures(journalLines(journalPath(db)), to);
  return (await import("../../store/postgres/backup.ts")).backupErasures({ url: db, to });
};

export const backup = defineCommand({
  name: "backup",
  summary: "copy the whole database into one file, while workers go on",
  words: { file: "optional" },
  options: {
    erasures: { type: "string", value: "FILE", about: "add to FILE what it lacks of the journal of erasures" },
  },
  notes: [
    "The file holds one moment, is checked log by log, and appears whole or not at all; nothing is ever overwritten.",
    "Exit 1 when the check finds faults: they are in the database too, and the file is kept. What was redacted or pruned",
    "after the backup stays gone only with the journal of erasures: keep a copy of it, and add to it often; without <file>,",
    "--erasures does that alone.",
  ].join("\n"),
  perform: async (program, { options, words: { file } }) => {
    const { output, cwd } = program;
    const { erasures } = options;
    if (file === undefined && erasures === undefined) throw new UsageError("backup needs <file>, or --erasures FILE");
    const { db } = (await loadSettings(program, options)).settings;
    requireThere(program, db);
    const made = file === undefined ? null : await makeBackup(program, db, resolve(cwd, file));
    const added = erasures === undefined ? null : await copyJournal(db, resolve(cwd, erasures));
    if (options.json === true) output.json({ ...made, ...(added === null ? {} : { erasuresAdded: added }) });
    if (added !== null) output.tell(`${String(erasures)}: ${counted(added, "line")} added`);
    if (made === null) return 0;
    const { path, backupAt, bytes, findings } = made;
    if (options.json !== true) for (const finding of findings) output.print(findingLine(finding));
    const found = findings.length === 0 ? "all is well" : counted(findings.length, "fault");
    output.tell(`${path}: ${counted(bytes, "byte")}, as of ${new Date(backupAt).toISOString()}; ${found}`);
    return findings.length === 0 ? 0 : 1;
  },
});
