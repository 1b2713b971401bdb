// Promises about a task's own plan, notes and goals.
import { about, type Promised } from "./promise.ts";

const { kept, without } = about("Plan, notes, goals");

const plan = "src/plugins/plan/plan.test.ts";

export const workspace: readonly Promised[] = [
  kept(
    "They belong to one task: no other's are read with them.",
    ["src/store/memory/store.test.ts", "keeps the rows of a task apart from those of another"],
    [
      "src/store/memory/rows.ts",
      "rowsOfTable(task, name));",
      "[...state.tasks.values()].flatMap((each) => rowsOfTable(each, name)));",
    ],
  ),
  kept(
    "Notes and goals have ids that are given once and stay over turns.",
    [plan, "are added, changed and deleted; an id is given once"],
    [
      "src/plugins/plan/notes.ts",
      "`n${String((context.state as Saved).next.n)}`",
      "`n${String((context.state as Saved).notes.length + 1)}`",
    ],
  ),
  kept(
    "Steps of a plan have ids that stay over turns.",
    [plan, "is saved whole, with an id for each step that stays over turns"],
    [
      "src/plugins/plan/plan-update.ts",
      "    return { id, status, text };",
      "    return { id: `s${String(s)}`, status, text };",
    ],
  ),
  kept(
    "An update of the plan raises its version, and one that was made for an older version changes nothing.",
    [plan, "is refused when it was made for a version that is no longer the newest, also in one reply"],
    ["src/plugins/plan/plan-update.ts", "if (expected !== saved.version) {", "if (expected > saved.version) {"],
  ),
  kept(
    "note_list gives the plan, the goals and the notes.",
    [plan, "are added, changed and deleted; an id is given once"],
    ["src/plugins/plan/notes.ts", 'wholeLines(saved).join("\\n")', '""'],
  ),
  kept(
    "Only blocked goals pause the turn.",
    [plan, "pause the turn when only blocked ones are left, and a new turn may go on"],
    ["src/core/decide.ts", 'if (goals.open === goals.blocked) return pause(state, "goals_blocked");', ""],
  ),
  kept(
    "A leg that moves no goal is the last: the turn pauses with its goals open.",
    [plan, "pause the turn when a leg moves none of them, and again after a resume that changes nothing"],
    ["src/core/decide.ts", 'if (!goals.progress) return pause(state, "no_progress");', ""],
  ),
  kept(
    "A turn goes on without a count of its legs; where one is set, it pauses there.",
    ["src/core/decide.test.ts", "go on without a count, unless one is set"],
    [
      "src/core/decide.ts",
      'if (turn.legs >= (state.settings.maxLegs ?? Number.MAX_SAFE_INTEGER)) return pause(state, "max_legs");',
      "",
    ],
  ),
  kept(
    "There is no cap on their number.",
    [plan, "have no cap on their number"],
    [
      "src/plugins/plan/goals.ts",
      "    const id = `g${String((context.state as Saved).next.g)}`;\n",
      '    if ((context.state as Saved).goals.length >= 100) return "That is enough.";\n    const id = `g${String((context.state as Saved).next.g)}`;\n',
    ],
  ),
  kept(
    "They come before the model as context of the conversation, never as system text.",
    [plan, "come before the model again in a later turn, once"],
    ["src/plugins/plan/context.ts", "  if (isEmpty(saved)) return [];\n", "  return [];\n"],
  ),
  kept(
    "They come whole at the start of each leg, and later changes as they are made.",
    [plan, "is all of it at the start of a leg, and then only what changes, so that what was sent stays as it was"],
    [
      "src/plugins/plan/context.ts",
      "return saved.changed.length === 0 ? [] : [shownRecord({ ...data, begins: false }, changedLines(saved))];",
      "return [];",
    ],
  ),
  ...without(
    "n/a: of earlier releases",
    "Notes and goals of before tasks are not taken over by themselves.",
    "Notes of neighbouring tasks are shown by no setting of before.",
  ),
];
