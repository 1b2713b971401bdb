// Promises about what is kept of a task, and about what a restart does with it.
import { about, type Promised } from "./promise.ts";

const { kept, without } = about("Records");
const restarts = about("Restarts");

const client = "src/client/client.test.ts";
const memory = "src/store/memory/store.test.ts";
const recover = "src/runner/recover-calls.test.ts";
const databaseFile = "src/store/sqlite/database-file.test.ts";

export const records: readonly Promised[] = [
  kept(
    "A task is created with its first event, its row and its first words at once.",
    [client, "a task is created with its objective as the first thing said"],
    ["src/client/create-task.ts", "items: files.length === 0 ? [first] : [],", "items: [],"],
  ),
  kept(
    "Every task has an owner, a place, a conversation, an objective, times and an outcome.",
    [
      "src/client/export-task.test.ts",
      "an export has the task's words, plan, actions, approvals, collaborators, usage and files, and where they stand",
    ],
    ["src/client/export-task.ts", "outcomes: outcomesOf(events),", "outcomes: [],"],
  ),
  kept(
    "Legs of a turn that goes on by itself belong to one turn, and none of them ends it before its time.",
    ["src/plugins/plan/plan.test.ts", "that are left open make another leg of the same turn, until they are done"],
    ["src/core/decide.ts", "turn !== undefined && goals.open > 0) {", "turn !== undefined && goals.open > 9) {"],
  ),
  kept(
    "A list shows the ten newest tasks unless it is told another number.",
    [client, "list gives ten unless told, and nobody else's"],
    ["src/client/list-tasks.ts", "export const DEFAULT_LIMIT = 10;", "export const DEFAULT_LIMIT = 11;"],
  ),
  kept(
    "A list shows the asker's own tasks in this place, whoever asks.",
    ["src/client/people.test.ts", "lists the asker's ten newest tasks there, and nobody else's, whoever asks"],
    ["src/client/list-tasks.ts", "DEFAULT_LIMIT, ...params, owner, place }", "DEFAULT_LIMIT, ...params, place }"],
  ),
  kept(
    "An id is a name and no permission: every read and post asks whose the task is, and where.",
    [client, "every read and every post is for the owner in the task's place alone"],
    [
      "src/client/find-task.ts",
      "row.owner === principal && row.origin.place === place;",
      "row.owner === principal || row.origin.place === place;",
    ],
  ),
  kept(
    "Nobody sees or posts more for being an operator.",
    ["src/client/authorisation.test.ts", "%s is for those who may"],
    [
      "src/client/find-task.ts",
      "row.owner === principal && row.origin.place === place;",
      'principal.startsWith("operator:") || (row.owner === principal && row.origin.place === place);',
    ],
  ),
  kept(
    "Who has lost a task calls nothing for it: the claim is confirmed right before each call.",
    ["src/runner/lease.test.ts", "starts nothing when it cannot renew, and stops; another finds what it announced"],
    ["src/runner/run-calls.ts", "  await confirmClaim(run);\n", ""],
  ),
  kept(
    "Only who holds a task writes to its log, its end among it.",
    [memory, "refuses an old fence, whatever the clock says"],
    ["src/store/memory/claims.ts", "task.lease === null || task.fence !== fence", "task.lease === null"],
  ),
  kept(
    "An outcome and the event that records it commit together, or neither does.",
    [memory, "leaves nothing of a refused append: no event, row, item, definition, post or child"],
    [
      "src/store/memory/append.ts",
      "  const task = guard(state, params);\n",
      "  applyRows(state.tasks.get(params.taskId) as StoredTask, params.rows);\n  const task = guard(state, params);\n",
    ],
  ),
  kept(
    "A recorded outcome is never overwritten: an end is the last word, and the second of two appends is refused.",
    [memory, "refuses an old fence before the end, and the end before the expected seq"],
    ["src/store/memory/append.ts", "if (task.ended)", "if (false)"],
  ),
  kept(
    "A cancel is not said to be done while nobody knows what a write of the task did.",
    ["src/runner/run-calls.test.ts", "ends cancelled once its write is settled"],
    ["src/core/decide.ts", '  if (waits.length > 0) return wait(state, { on: "resolution", ...ends });\n', ""],
  ),
  ...without(
    "n/a: there is no index and no cache beside the log that could be reset",
    "A reset of data that can be made again leaves the records of tasks alone.",
  ),
  restarts.kept(
    "A task that pauses when it is interrupted does so after a crash: no model, no tool, until a person resumes it.",
    [recover, "calls no model and no tool after a crash before anybody says so"],
    [
      "src/core/recovery.ts",
      'facts.stoppedMidTurn === "restored" || (facts.stoppedMidTurn !== null && state.onInterrupt === "pause");',
      'facts.stoppedMidTurn === "restored";',
    ],
  ),
  restarts.kept(
    "Tasks at rest keep their outcome over a restart; nothing is claimed that has nothing new.",
    [memory, "finds a waiting task only when an item came or a timer is due"],
    [
      "src/store/memory/inbox.ts",
      'task.columns.status !== "waiting" || task.inboxSeq > task.inboxTaken ? now : nextTimerAt(task);',
      "now;",
    ],
  ),
  restarts.kept(
    "What was started on such a task is unknown after a restart, and no check of its own runs.",
    [recover, "makes a started write unknown and asks no check"],
    ["src/core/recovery.ts", "if (pausesMidTurn(state, facts) || tool === undefined", "if (tool === undefined"],
  ),
  restarts.kept(
    "A file that is not a database of tasks is an error, and is left as it is.",
    [databaseFile, "is refused and left as it was: %s"],
    ["src/store/sqlite/database-file.ts", "  if (file.size > 0) requireOurs(path);\n", ""],
  ),
  restarts.kept(
    "A database of a newer version is an error, and is left as it is.",
    [databaseFile, "case-40: of a newer schema is refused, and both versions are named"],
    [
      "src/store/sqlite/migrate.ts",
      "if (version <= known) return version;",
      "if (version >= 0) return Math.min(version, known);",
    ],
  ),
];
