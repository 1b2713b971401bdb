// perdure prune: removes tasks that ended long ago.
import { DURATION_WORDS, parseDuration } from "../../config/duration.ts";
import type { Store } from "../../store/store.ts";
import { defineCommand, UsageError } from "../command.ts";
import { counted } from "../database.ts";
import { openSession } from "../session.ts";

/** In one transaction, so that others get their turn. */
const AT_ONCE = 50;

const pruneAll = async (store: Store, endedBefore: number): Promise<string[]> => {
  const taskIds: string[] = [];
  for (;;) {
    const gone = await store.prune({ endedBefore, limit: AT_ONCE });
    taskIds.push(...gone);
    if (gone.length < AT_ONCE) return taskIds;
  }
};

const ageOf = (text: string | undefined): number => {
  if (text === undefined) throw new UsageError(`prune needs --older-than: ${DURATION_WORDS}`);
  const ms = parseDuration(text);
  if (ms === null) throw new UsageError(`--older-than must be ${DURATION_WORDS}, not ${JSON.stringify(text)}`);
  return ms;
};

export const prune = defineCommand({
  name: "prune",
  summary: "remove tasks that ended long ago, whoever owns them",
  words: {},
  options: {
    "older-than": { type: "string", value: "AGE", about: `how long ago they ended: ${DURATION_WORDS}` },
    "dry-run": { type: "boolean", about: "only say which" },
  },
  notes: [
    "Log, inbox, snapshots, files and key go for good, from a database that is restored later too. A task that a kept one",
    "has as its parent, or folds, stays. The file does not shrink; its space is used again.",
  ].join("\n"),
  perform: async (program, { options }) => {
    const ageMs = ageOf(options["older-than"]);
    const dryRun = options["dry-run"] === true;
    await using session = await openSession(program, options);
    const { store } = session;
    const endedBefore = (await store.now()) - ageMs;
    const pruned = dryRun
      ? await store.prune({ endedBefore, limit: Number.MAX_SAFE_INTEGER, dryRun })
      : await pruneAll(store, endedBefore);
    if (options.json === true) program.output.json({ pruned, dryRun });
    else for (const taskId of pruned) program.output.print(taskId);
    program.output.tell(`${counted(pruned.length, "task")} ${dryRun ? "would be pruned" : "pruned"} in ${store.name}`);
    return 0;
  },
});
