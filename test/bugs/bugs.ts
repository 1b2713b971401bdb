// Bugs put in on purpose, one at a time: the simulation must find each. Every patch must fit exactly once.

export interface Bug {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** A second place in the same file. */
  readonly also?: { readonly find: string; readonly replace: string };
}

export const bugs: readonly Bug[] = [
  {
    name: "acknowledge before commit",
    file: "src/store/memory/inbox.ts",
    find: "  const receipt = deliver(state, task, encodePost(params));",
    replace: `  if (task.lease !== null) return { taskId: params.taskId, seq: task.inboxSeq + 1, duplicate: false };
  const receipt = deliver(state, task, encodePost(params));`,
  },
  {
    name: "run a tool before its ToolStarted",
    file: "src/runner/run-calls.ts",
    find: `    run.journal.add(...events);
    if ((await run.journal.commit()) !== "appended") return;
    for (const { callId } of events) run.announced.add(callId);`,
    replace: `    run.journal.add(...events);
    for (const { callId } of events) run.announced.add(callId);
    await dispatchAll(run, start);
    return;`,
  },
  {
    name: "renew without the fence",
    file: "src/store/memory/claims.ts",
    find: `  const task = findOwned(state, params.taskId, params.fence);
  task.lease = leaseFrom(state, task.lease.worker, params.leaseMs);`,
    replace: `  const task = state.tasks.get(params.taskId);
  if (task?.lease != null) task.lease = leaseFrom(state, task.lease.worker, params.leaseMs);`,
  },
  {
    name: "consume an item outside InputTaken",
    file: "src/store/memory/inbox.ts",
    find: "  return firstTake(entries);",
    replace:
      "  const taken = firstTake(entries);\n  if (taken.length > 1) consume(task, taken.at(-1)?.seq ?? 0);\n  return taken;",
  },
  {
    name: "end a task over an untaken item",
    file: "src/store/memory/append.ts",
    find: "  if (inboxSeen !== undefined) checkInboxSeen(state, task, inboxSeen);",
    replace: "",
  },
  {
    name: "re-run a started write",
    file: "src/core/recovery.ts",
    find: "      if (changesOutside(call)) orders.push({ callId: call.id, order: recoveryOf(state, call, facts) });",
    replace: '      if (changesOutside(call)) orders.push({ callId: call.id, order: "rerun" });',
  },
  {
    name: "skip the re-check after ToolStarted",
    file: "src/runner/run-calls.ts",
    find: "    if (hasNews(run)) return;",
    replace: "",
  },
  {
    name: "dispatch after half a lease",
    file: "src/runner/renew.ts",
    find: "  if (lease.isFresh()) return;\n  throw",
    replace: "  return;\n  throw",
  },
  {
    name: "store a snapshot of an older revision",
    file: "src/store/memory/snapshots.ts",
    find: "task.ended || snapshot.revision !== task.revision",
    replace: "task.ended",
  },
  {
    name: "treat a lost answer as a failure",
    file: "src/runner/dispatch.ts",
    find: "  if (error instanceof NothingHappened || !changesOutside(tool)) {",
    replace: "  if (!(error instanceof InvalidOutput)) {",
  },
  {
    name: "let an answer meet whatever question is open",
    file: "src/core/apply-input.ts",
    find: 'return arrive(findCall(state, item.question), "answer", {',
    replace: 'return arrive(state.calls.find((call) => call.phase === "parked"), "answer", {',
  },
  {
    name: "run internal calls side by side",
    file: "src/core/decide.ts",
    find: 'const alone = effect !== undefined && effect !== "read";',
    replace: 'const alone = effect === "write" || effect === "destructive";',
  },
  {
    name: "take a plan of an older version",
    file: "src/plugins/plan/plan-update.ts",
    find: "version: saved.version + 1,",
    replace: "version: expected + (steps.length > 2 ? 0 : 1),",
  },
  {
    name: "run a call on a stale decision",
    file: "src/store/decisions.ts",
    find: 'return deciding.showing === 0 || isShown ? null : "stale";',
    replace: "return null;",
  },
  {
    name: "a past approval grants",
    file: "src/runner/ask-approval.ts",
    find: "  return approval.inputHash === inputHashOf(run.mac, input);",
    replace: `  return approval.inputHash === inputHashOf(run.mac, input);
};

/** Any approval of the same reply for the same input. */
const wasGranted = (run: Run, candidate: Candidate): boolean => {
  const hash = inputHashOf(run.mac, candidate.input);
  return stateOf(run).calls.some(({ approval }) => approval?.approved === true && approval.inputHash === hash);`,
    also: {
      find: "|| isGranted(run, candidate)",
      replace: "|| isGranted(run, candidate) || wasGranted(run, candidate)",
    },
  },
  {
    name: "acknowledge a decision for a changed input",
    file: "src/store/decisions.ts",
    find: '  if (asked.inputHash !== deciding.inputHash) return "changed";',
    replace: "",
  },
  {
    name: "run a call that was denied",
    file: "src/core/apply-record.ts",
    find: '    if (data.decision !== "void") call.denied = data.reason ?? data.decision;',
    replace: '    if (data.decision === "denied") call.approval = { ...asked, approved: true };',
    also: {
      find: "    delete call.parked;\n    if (data.decision",
      replace: "    delete call.parked;\n    const asked = call.approval;\n    if (data.decision",
    },
  },
  {
    name: "let an approval outlive a resume",
    file: "src/core/apply-input.ts",
    find: 'for (const call of state.calls) if (call.phase === "waiting") delete call.approval;',
    replace: "void state;",
  },
  {
    name: "auto-approve over another's correction",
    file: "src/runner/ask-approval.ts",
    find: "!wantsAnother && !needsOwner(state, prepared.tool.effect)",
    replace: "!wantsAnother && prepared.tool.name !== ''",
  },
  {
    name: "let two decisions both be the first",
    file: "src/store/memory/decisions.ts",
    find: "  if (decided !== undefined) return {",
    replace: "  if (decided !== undefined && decided.decision === item.decision) return {",
  },
  {
    name: "take a removed collaborator's correction",
    file: "src/core/people.ts",
    find: '  if (!state.collaborators.includes(by)) return "not_collaborator";',
    replace: "",
  },
  {
    name: "let a collaborator do more than steer",
    file: "src/core/people.ts",
    find: "  if (!owns && ownersAlone.has(item.type)) return",
    replace: "  if (!owns && ownersAlone.has(item.type) && !state.collaborators.includes(item.by)) return",
  },
  {
    name: "accept both of two moves",
    file: "src/client/post.ts",
    find: '  const key = item.type === "Handoff" ? moveKey(events) : given;',
    replace: "  const key = given;",
  },
  {
    name: "leave collaborators in a moved task",
    file: "src/runner/judge-items.ts",
    find: '  ...state.collaborators.map((principal) => coreRecord("collaborator", { principal, change: "remove", by })),',
    replace: "",
  },
  {
    name: "end a cancelled turn over an unknown action",
    file: "src/core/decide.ts",
    find: '  if (waits.length > 0) return wait(state, { on: "resolution", ...ends });\n  if (state.mode',
    replace: "  if (state.mode",
  },
  {
    name: "take words from where the task was",
    file: "src/store/memory/inbox.ts",
    find: "  if ((place === undefined || place === origin.place) && steers) return;",
    replace: "  if (steers) return;",
  },
];
