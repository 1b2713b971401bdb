// Promises about the people around a task: who resumes, corrects and moves it, and what only its owner may do.
import { about, type Promised } from "./promise.ts";

const resuming = about("Resume and cancel");
const steering = about("Steering");
const collaborators = about("Collaborators");
const handoff = about("Handoff");
const later = about("Saved work");

const applyInput = "src/core/apply-input.test.ts";
const around = "src/client/people.test.ts";
const memory = "src/store/memory/store.test.ts";
const approving = "src/runner/approvals.test.ts";

const resumes: readonly Promised[] = [
  resuming.kept(
    "The owner resumes a paused, failed or cancelled turn.",
    [applyInput, "lets a paused, failed or cancelled turn go on, with fresh bounds"],
    ["src/core/apply-input.ts", "    turn.steps = 0;\n    turn.legs = 1;", "    turn.legs = 1;"],
  ),
  resuming.kept(
    "A completed turn may be opened again for more.",
    [applyInput, "opens a new turn where one completed"],
    [
      "src/core/apply-input.ts",
      'if (turn.outcome === "completed") openTurn(state, seq);',
      'if (turn.outcome === "completed") return;',
    ],
  ),
  resuming.kept(
    "A cancel goes before an interrupt, whichever came first.",
    [applyInput, "goes before an interrupt, whichever came first"],
    ["src/core/apply-input.ts", '  if (state.stopping?.kind === "cancel") return;\n', ""],
  ),
  resuming.kept(
    "A cancel takes the timers of the turn's calls with it.",
    ["src/core/decide.test.ts", "takes the turn's approvals and timers with it"],
    [
      "src/core/decide.ts",
      "cancelTimers: Object.entries(state.timers).flatMap(([id, timer]) => (timer.callId === undefined ? [] : [id])),",
      "cancelTimers: [],",
    ],
  ),
  resuming.kept(
    "What is posted twice under a key counts once.",
    [
      "src/client/client.test.ts",
      "a completed turn cannot be cancelled; what was posted twice under a key counts once",
    ],
    ["src/client/post.ts", "const given = params.key ?? client.random.id();", "const given = client.random.id();"],
  ),
  resuming.kept(
    "Nobody but the kernel says that a time has come or that a child has ended.",
    ["src/client/authorisation.test.ts", "%s is for those who may"],
    ["src/client/post.ts", "if (kernelItems.has(item.type))", 'if (kernelItems.has(item.type) && taskId === "")'],
  ),
];

const corrections: readonly Promised[] = [
  steering.kept(
    "A correction is committed before it is acknowledged.",
    [around, "is not accepted, and a worker of the same process pauses the turn before its next dispatch"],
    [
      "src/client/post.ts",
      'throw new StoreError("unavailable", message, { cause: error });',
      "return { taskId, seq: message.length, duplicate: false };",
    ],
  ),
  steering.kept(
    "One that cannot be saved pauses the turn before it dispatches anything more.",
    [around, "is not accepted, and a worker of the same process pauses the turn before its next dispatch"],
    ["src/client/post.ts", "    if (runs) corrections?.unsaved(taskId);\n", ""],
  ),
  steering.kept(
    "A call that is announced by then is not dispatched.",
    [around, "leaves a call that is announced by then undispatched, and the others for the resume"],
    ["src/runner/run-calls.ts", "  if (isCorrectionUnsaved(run)) return;\n", ""],
  ),
  steering.kept(
    "One that is saved later lets the turn go on.",
    [around, "lets the turn go on once one is saved"],
    ["src/client/post.ts", "    corrections?.settled(taskId);\n    return receipt;", "    return receipt;"],
  ),
  steering.kept(
    "A correction lands between steps and calls off what was not dispatched.",
    ["src/runner/run-calls.test.ts", "a correction calls it off, and the model is asked again with the correction"],
    ["src/core/apply-input.ts", "  if (isRunning(state)) supersede(state);\n  if (item.by", "  if (item.by"],
  ),
  steering.kept(
    "It never splits a call from its result.",
    [applyInput, "calls off the calls of a running turn and joins after their results"],
    [
      "src/core/apply-input.ts",
      "isRunning(state) && state.calls.length === 0 && state.model.open",
      "isRunning(state) && state.model.open",
    ],
  ),
  steering.kept(
    "It reaches the task that was named and no other: an id that fits several is refused.",
    ["src/client/client.test.ts", "the beginning of an id is enough where it fits one root"],
    ["src/client/find-task.ts", "if (more.length > 0) {", "if (more.length > 9) {"],
  ),
  steering.kept(
    "Another's words, in the same place too, redirect nothing.",
    [memory, "takes a correction of the owner and of a named collaborator, and of nobody else"],
    ["src/store/memory/inbox.ts", "|| (!origin.private && isCollaborator(task, by));", "|| !origin.private;"],
  ),
  steering.kept(
    "Once the work has finished, a correction is an ordinary word.",
    [applyInput, "takes the ordinary path once work has finished"],
    [
      "src/core/apply-input.ts",
      "  say(state, seq, item);\n};\n\nconst stop",
      "  pushMessage(state, seq, contentOf(item));\n};\n\nconst stop",
    ],
  ),
  steering.kept(
    "Words that come while a call waits are shown as queued.",
    ["src/client/show-task.test.ts", "what is said while a call waits for a decision is shown as queued"],
    ["src/client/show-task.ts", "queued: queuedOf(events, state),", "queued: [],"],
  ),
  steering.kept(
    "They join after the results.",
    [around, "a Say that comes while a call waits for an answer is queued, shown so, and joins after the results"],
    [
      "src/core/apply-input.ts",
      "isRunning(state) && state.calls.length === 0 && state.model.open",
      "isRunning(state) && state.model.open",
    ],
  ),
];

const others: readonly Promised[] = [
  collaborators.kept(
    "The owner names who may steer a public task, of those who may act in its place.",
    [around, "takes one that may act in the place, once, and never the owner or the kernel"],
    [
      "src/client/people.ts",
      'if (await isAllowed(access, { principal, place, to: "act" })) return null;',
      "if (access !== null) return null;",
    ],
  ),
  collaborators.kept(
    "The owner takes it back.",
    [around, "steers no task at rest, and no longer once dismissed"],
    [
      "src/runner/judge-items.ts",
      "if (principal === state.owner || isNamed",
      'if (change === "remove" || principal === state.owner || isNamed',
    ],
  ),
  collaborators.kept(
    "Private tasks have none.",
    [around, "is refused for a private task"],
    [
      "src/client/people.ts",
      '  if (state.origin.private) return "is private: nobody but its owner may steer it";\n',
      "",
    ],
  ),
  collaborators.kept(
    "A collaborator is one in the task's own place, and of that task alone.",
    [memory, "takes none of a collaborator that was dismissed, of another task's, or in a private task"],
    ["src/store/memory/inbox.ts", "(!origin.private && isCollaborator(task, by))", "isCollaborator(task, by)"],
  ),
  collaborators.kept(
    "Access is checked when a correction is accepted.",
    [around, "that may be seen and not acted in shows what is there, and takes nothing"],
    ["src/client/post.ts", '  await requireAccess(client, "act");\n', ""],
  ),
  collaborators.kept(
    "Status is checked when a correction is accepted.",
    [around, "steers no task at rest, and no longer once dismissed"],
    [
      "src/client/people.ts",
      "principal === state.owner || isRunning(state) ? null :",
      'principal === state.owner || isRunning(state) || state.taskId !== "" ? null :',
    ],
  ),
  collaborators.kept(
    "Membership is checked again when it is taken: one who was dismissed in between adds nothing.",
    [around, "whose correction was accepted and who is dismissed before it is taken adds nothing"],
    ["src/core/people.ts", '  if (!state.collaborators.includes(by)) return "not_collaborator";\n', ""],
  ),
  collaborators.kept(
    "Access is asked again when it is taken; no answer is a no.",
    [around, "who loses access, or of whom nobody can say, between the two checks adds nothing"],
    [
      "src/runner/judge-items.ts",
      'return item.by === owner ? [] : [{ principal: item.by, place: origin.place, to: "act" }];',
      "return [];",
    ],
  ),
  collaborators.kept(
    "Status is checked again when it is taken.",
    ["src/core/people.test.ts", "of a collaborator is refused in a private task, and where nothing runs"],
    ["src/core/people.ts", 'return isRunning(state) ? null : "at_rest";', "return null;"],
  ),
  collaborators.kept(
    "Who may not act in the place when the naming is taken is not named.",
    [around, "adds nobody who may not act in the place when it is taken"],
    [
      "src/runner/judge-items.ts",
      'return item.change === "remove" ? [] : [{ principal: item.principal, place: origin.place, to: "act" }];',
      "return [];",
    ],
  ),
  collaborators.kept(
    "A correction carries who made it, and the task remembers that another has corrected it.",
    [around, "steers the task that names them, by its whole id, and is remembered"],
    ["src/core/apply-input.ts", "  if (item.by !== state.owner) state.steeredByOther = true;\n", ""],
  ),
  collaborators.kept(
    "After a collaborator's correction the owner approves every later change, also after a resume.",
    [approving, "makes the owner decide on every later change, whatever else allows it, also after a resume"],
    ["src/core/approval.ts", "state.steeredByOther === true &&", "state.steeredByOther === null &&"],
  ),
  collaborators.kept(
    "The owner's auto-approve does not decide those.",
    [approving, "makes the owner decide on every later change, whatever else allows it, also after a resume"],
    ["src/runner/ask-approval.ts", " && !needsOwner(state, prepared.tool.effect);", ";"],
  ),
  collaborators.kept(
    "A collaborator decides on nothing.",
    [memory, "refuses a collaborator, whom a request may not name"],
    ["src/store/decisions.ts", " && (who.by === who.owner || !who.isCollaborator);", ";"],
  ),
  collaborators.kept(
    "All but steering stays with the owner.",
    [around, "is a stranger to every other verb, and to everything that reads"],
    ["src/client/people.ts", '  if (item.type !== "Steer") return findTask(client, idOrPrefix);\n', ""],
  ),
  collaborators.kept(
    "The owner's export lists them.",
    [
      "src/client/export-task.test.ts",
      "an export has the task's words, plan, actions, approvals, collaborators, usage and files, and where they stand",
    ],
    [
      "src/client/export-task.ts",
      "    collaborators,\n    collaboration:",
      "    collaborators: [],\n    collaboration:",
    ],
  ),
];

const moves: readonly Promised[] = [
  handoff.kept(
    "A task that is moved is in its new place at once, and private from then on.",
    [around, "takes the task to the new place alone, private, without its collaborators"],
    ["src/runner/judge-items.ts", "origin: { ...origin, private: true }", "origin"],
  ),
  handoff.kept(
    "Its collaborators do not come along.",
    [around, "takes the task to the new place alone, private, without its collaborators"],
    [
      "src/runner/judge-items.ts",
      '  ...state.collaborators.map((principal) => coreRecord("collaborator", { principal, change: "remove", by })),\n',
      "",
    ],
  ),
  handoff.kept(
    "Of two moves the second fails.",
    [around, "of two, from front ends at once, is one: the other is told, and may not follow"],
    ["src/client/post.ts", 'item.type === "Handoff" ? moveKey(events) : given;', "given;"],
  ),
  handoff.kept(
    "It is moved to a place that is open to its owner.",
    [around, "is the owner's, to a place that is open to them, and not to where it lives"],
    [
      "src/client/people.ts",
      'if (!(await isAllowed(access, { ...there, to: "act" }))) {',
      'if (origin.place === "") {',
    ],
  ),
  handoff.kept(
    "Its sources must be open to the owner there, when the move is accepted and when it is taken.",
    [around, "needs the task's sources to be open to the owner there, when it is accepted and when it is taken"],
    [
      "src/runner/judge-items.ts",
      'return [{ ...there, to: "act" }, ...sources.map((source): Question => ({ ...there, to: "read", source }))];',
      'return [{ ...there, to: "act" }];',
    ],
  ),
  handoff.kept(
    "What is posted from the old place after it reaches nothing.",
    [around, "is overtaken by none of what was posted from the old place: a post that comes after it is refused"],
    ["src/store/memory/inbox.ts", "(place === undefined || place === origin.place) && steers", "steers"],
  ),
  handoff.kept(
    "A task with an unknown action is not moved.",
    [around, "is refused while an action is unknown"],
    [
      "src/core/people.ts",
      '  if (state.calls.some((call) => call.phase === "unknown")) return "unknown_action";\n',
      "",
    ],
  ),
  handoff.kept(
    "A move that is taken with a write that nobody knows the outcome of moves nothing, also before it is called unknown.",
    [around, "that is taken with a write that a crash cut, before anybody called it unknown, moves nothing"],
    [
      "src/runner/judge-items.ts",
      '    if (item.type === "Handoff" && hasLostWrite(run, state)) return { ...item, refused: "unknown_action" };\n',
      "",
    ],
  ),
  handoff.kept(
    "A task with a pending request is not moved.",
    [around, "an approval whose call is corrected away is settled with it: nobody is asked for it any more"],
    ["src/core/people.ts", '  if (state.calls.some(isPending)) return "approval_pending";\n', ""],
  ),
  handoff.kept(
    "A move voids what was approved in the old place and has not begun.",
    [approving, "voids what was approved in the old place, and says so of its request"],
    [
      "src/core/apply-record.ts",
      "    state.origin = data.origin;\n    voidApprovals(state);\n",
      "    state.origin = data.origin;\n",
    ],
  ),
];

const savedWork: readonly Promised[] = [
  later.kept(
    "A post of another task to one that is forgotten is dropped, and does not fail its sender.",
    [memory, "drops what it carries for a forgotten task"],
    [
      "src/store/memory/inbox.ts",
      "    if (task === undefined) continue;\n",
      '    if (task === undefined) throw new StoreError("forgotten", "it is gone");\n',
    ],
  ),
  ...later.without(
    "later: forgetting",
    "Only inactive work is forgotten, with nothing pending and nothing unknown.",
    "It goes whole: log, notes, files, evidence, actions, usage, grants, keys, traces and drafts that came of it.",
    "Its children go with it; its forks are named, and go or stand alone as their owner says.",
    "A marker refuses late writers and late learning.",
    "A half-done deletion can be repeated.",
    "Original messages, facts remembered by themselves, approved skills and operators' backups stay.",
  ),
  ...later.without(
    "later: tasks plugin",
    "Earlier work is found by words, among the owner's own in this place.",
    "Work that was found is steered, cancelled or chosen to go on with, once the turn that chose it is over.",
    "What is chosen so is opened by the checks of a resume.",
    "Task control is internal: it grants nothing and approves nothing.",
  ),
  ...later.without(
    "later: break-glass",
    "An operator's reading of a task is a setting, off by default, and recorded when it is used.",
  ),
];

export const people: readonly Promised[] = [...resumes, ...corrections, ...others, ...moves, ...savedWork];
