// perdure backup: the whole database in one file, while workers go on.
import { resolve } from "node:path";
import { backupDatabase } from "../../store/sqlite/backup.ts";
import { defineCommand } from "../command.ts";
import { counted, findingLine, requireFile, requireThere, verifyStore } from "../database.ts";
import { loadSettings } from "../session.ts";

export const backup = defineCommand({
  name: "backup",
  summary: "copy the whole database into one file, while workers go on",
  words: { file: "required" },
  options: {},
  notes: [
    "The file holds one moment, is checked log by log, and appears whole or not at all; nothing is ever overwritten.",
    "Exit 1 when the check finds faults: they are in the database too, and the file is kept. Keep <db>.erasures as well:",
    "what was redacted or pruned after the backup stays gone only with it.",
  ].join("\n"),
  perform: async (program, { options, words: { file } }) => {
    const { output, cwd } = program;
    const { db } = (await loadSettings(program, options)).settings;
    requireFile(db);
    requireThere(program, db);
    const made = await backupDatabase({ path: db, to: resolve(cwd, file), verify: verifyStore(program) });
    const { path, backupAt, bytes, findings } = made;
    if (options.json === true) output.json(made);
    else for (const finding of findings) output.print(findingLine(finding));
    const found = findings.length === 0 ? "all is well" : counted(findings.length, "fault");
    output.tell(`${path}: ${counted(bytes, "byte")}, as of ${new Date(backupAt).toISOString()}; ${found}`);
    return findings.length === 0 ? 0 : 1;
  },
});
