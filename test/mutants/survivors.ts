// Why a mutant may survive: by file and line of code. One reason may speak for many lines.

interface Reason {
  /** Of any file if absent. */
  readonly file?: string;
  /** A whole line, trimmed; a RegExp may speak for several. */
  readonly code: string | RegExp;
  readonly why: string;
}

const LEFT_OUT = "What is undefined is left out of what is stored and of what is compared.";
const WORDS = "Words of a message. Tests hold what is told of and where, not every word.";
const PARKED = "`parked` is there exactly while the phase says so: one of the two would do.";
const RUNS = "Reached while a turn runs: it is there. The question mark is for the type.";
const SAID_TWICE = "Said twice on purpose; either alone keeps the promise.";
const NO_WRITE = "Saves a write or a look, and changes nothing that is kept.";

const inputs: readonly Reason[] = [
  {
    code: 'if (message.role === "user" && textOf(message.content) === state.objective) {',
    why: "The first message of a conversation is a person's.",
  },
  { code: "if (turn?.answer === undefined) return;", why: RUNS },
  { code: /^return \[text\(item\.text\), /, why: "A Steer has no files." },
  { code: /^state\.mode === "conversation" && state\.stopping/, why: "No two items of a task have one seq." },
  {
    code: "if (turn === undefined || !mayResume(state)) return;",
    why: "mayResume asks that too; this is for the type.",
  },
  { code: /^if \(call\?\.phase === "parked" && call\.parked\?\.on === on\)/, why: PARKED },
  { code: "if (timer.callId === undefined) return;", why: "No call has that id: nothing arrives anywhere." },
  { code: /^call\.phase === "parked" && call\.parked\?\.on === "signal"/, why: PARKED },
  {
    code: /^case "(Decide|SourceChanged|Handoff|Collaborate)":/,
    why: "Falls to the end, which does the same; the cases are for the compiler and the reader.",
  },
].map((each) => ({ file: "src/core/apply-input.ts", ...each }));

const records: readonly Reason[] = [
  { code: "if (data.retryAt !== undefined) state.model.retryAt = data.retryAt;", why: LEFT_OUT },
  { code: /^if \(state\.objectiveSeq !== undefined && gone\.has/, why: "Nothing that is gone has no seq." },
].map((each) => ({ file: "src/core/apply-record.ts", ...each }));

const approvals: readonly Reason[] = [
  {
    code: /^order\[Math\.max\(0, /,
    why: "No verdict has the place -1, and 0 is the least: the index is always one of the list's.",
  },
  { code: /^call\.phase === "parked" && call\.parked\?\.on === "approval"/, why: PARKED },
].map((each) => ({ file: "src/core/approval.ts", ...each }));

const decisions: readonly Reason[] = [
  {
    code: 'return off && !changesOutside(call) ? "interrupted" : null;',
    why: "What is lost and goes on has an order in recoveries, which come first.",
  },
  {
    code: "const effect = call.effect ?? entryOf(state, call.name)?.effect;",
    why: "A call without an entry was settled before.",
  },
  {
    code: 'const alone = effect !== undefined && effect !== "read";',
    why: "A call without an entry was settled before.",
  },
  { code: /^else if \(call\.phase === "parked" && call\.parked !== undefined/, why: PARKED },
  {
    code: /^if \(state\.stopping\?\.kind === /,
    why: "Reached while something stops the turn: it is there. The question mark is for the type.",
  },
  { code: /^const says = outcome === "done"/, why: LEFT_OUT },
  { code: /^if \(goals !== null && turn !== undefined/, why: "Reached with an answer, which a turn gave." },
  { code: /^return pause\(state, `model_/, why: "Each failure of the model is kept with its kind." },
  { code: /^if \(state\.turn\?\.failed/, why: RUNS },
  {
    code: /^if \(state\.calls\.some\(\(call\) => call\.phase === "detached"\)\)/,
    why: "All others were settled, started or waited for above.",
  },
  { code: "const answer = state.turn?.answer;", why: RUNS },
].map((each) => ({ file: "src/core/decide.ts", ...each }));

const folds: readonly Reason[] = [
  { code: 'override readonly name = "FoldError";', why: "Shown with the message; nothing asks for it." },
  { code: "model: { attempts: 0, failures: 0 },", why: "Each turn begins with its own." },
  { code: /^if \(state\.calls\.length === 0 \|\| /, why: "Asked when a call has finished: there is one." },
  { code: /^const results = state\.calls\.flatMap/, why: "Asked when all have finished: each has its result." },
  { code: 'const call = openCall(state, event.callId, "ToolFinished");', why: WORDS },
  { code: "let stays = false;", why: "No conversation begins with results." },
].map((each) => ({ file: "src/core/fold.ts", ...each }));

const logs: readonly Reason[] = [
  { code: /what: |=== last \? `event|^const \[listed, counted\]/, why: WORDS },
  {
    code: /^const row = \{ lastSeq: log\.entries\.length/,
    why: "Nothing that is called here looks at the row's head, and no whole log is shorter than itself.",
  },
].map((each) => ({ file: "src/core/check-log.ts", ...each }));

const recovery: readonly Reason[] = [
  {
    file: "src/core/recovery.ts",
    code: /^const stops = state\.stopping !== undefined/,
    why: `A stop calls its calls off as well. ${SAID_TWICE}`,
  },
  {
    file: "src/runner/recover-calls.ts",
    code: "if (waitMs <= 0) return true;",
    why: "To sleep for no time does the same.",
  },
  { file: "src/runner/recover-calls.ts", code: "return true;", why: "The next look finds that the time is over." },
  {
    file: "src/runner/recover-calls.ts",
    code: /^const \{ id: callId, invocationId = ""/,
    why: "A call that was started has both; this is for the type.",
  },
  {
    file: "src/runner/recover-calls.ts",
    code: /tool\.verify\?\.\(receipt, context\)/,
    why: "Only a tool that has a check is asked.",
  },
  {
    file: "src/runner/recover-calls.ts",
    code: /^run\.ports\.watcher\.note\?\.\(/,
    why: "A watcher need not listen; those of tests do.",
  },
  {
    file: "src/runner/recover-calls.ts",
    code: /^(\} finally \{|bounds\.release\(\);)$/,
    why: "What is left runs out by itself, and stops nothing.",
  },
  {
    file: "src/runner/recover-calls.ts",
    code: 'by: call.verifyAskedBy ?? "core",',
    why: "Who asked is looked at by tests of both kinds; the value beside it is for the type.",
  },
  {
    file: "src/runner/recover-calls.ts",
    code: 'const by = call.verifyAskedBy ?? "core";',
    why: "Reached for an unknown call: a person asked.",
  },
  {
    file: "src/runner/recover-calls.ts",
    code: /^if \(resolution === undefined \|\| /,
    why: "Ordered only where somebody settled it; this is for the type.",
  },
  {
    file: "src/runner/recover-calls.ts",
    code: "run.announced.delete(call.id);",
    why: "Nobody asks of an unknown call whether it was announced.",
  },
  {
    file: "src/runner/recover-calls.ts",
    code: /^return reruns\.length > 0 \? /,
    why: "Of none, none is run; and only `redispatch` is told apart.",
  },
  {
    file: "src/runner/recover-calls.ts",
    code: "run.lease.lost.throwIfAborted();",
    why: "What follows finds the lease lost as well.",
  },
  { file: "src/runner/recover-calls.ts", code: /^const detail = message === undefined/, why: LEFT_OUT },
  {
    file: "src/runner/renew.ts",
    code: /^return await Promise\.race\(\[renewOnce/,
    why: "Only whether it is true is asked.",
  },
  { file: "src/runner/lease.ts", code: /^(override readonly name|if \(clock\.monotonic\(\))/, why: WORDS },
  {
    file: "src/runner/renew.ts",
    code: /^(const limit = |} finally {|answered\.abort)/,
    why: "What is left runs out by itself, and tells nobody.",
  },
];

const claims: readonly Reason[] = [
  { code: /^return connection\.get\(sql, /, why: NO_WRITE },
  { code: "return lapsed || next !== undefined ? { lapsed, next } : null;", why: NO_WRITE },
  { code: "if (lapsed) endLapsed(connection, now);", why: NO_WRITE },
  { code: /^if \(isTimerDue\(/, why: "What is moved in is asked for by its time again." },
  {
    code: "if (row === undefined) return null;",
    why: "Only a task that has ended is ever removed, and none of those is claimed.",
  },
].map((each) => ({ file: "src/store/sqlite/claims.ts", ...each }));

const codecs: readonly Reason[] = [
  { code: 'override readonly name = "CodecError";', why: "Shown with the message; nothing asks for it." },
  { code: /^const fault = diagnose\(/, why: "What Check refuses has a fault that is found; this is for the type." },
  { code: /^if \(event\.type !== "ExtensionRecorded" \|\| /, why: "No other event has an extension." },
  { code: /^check\(validators\[event\.kind\]|parse\(text, "inbox item"\)/, why: WORDS },
  { code: "} catch (cause) {", why: "What is no JSON is no object either: the same code, other words." },
  { code: /^if \(typeof value !== "object" \|\| /, why: "A schema refuses it too: the same code, other words." },
].map((each) => ({ file: "src/core/codec.ts", ...each }));

const projected: readonly Reason[] = [
  { code: /^return state\.turn === undefined && /, why: "A turn begins with what was taken." },
  { code: "if (counter === undefined) return [];", why: "What was counted has its counter; this is for the type." },
  { code: /^if \(!\("sources" in event\)/, why: "What is read from JSON lacks it or has it." },
  { code: "if (!isRecordKind(kind)) return [];", why: "The fold has refused it; this is for the type." },
  {
    code: /^return model === undefined \? \[\]/,
    why: "Without a call announced nothing was counted, and no row is found.",
  },
  { code: /^(default:|return \[\];)$/, why: "Of other kinds there is nothing to write." },
  { code: /^const isAction = /, why: "The fold has refused a result of no call." },
  {
    code: /^const action = event\.type === "ToolFinished"/,
    why: "No other event names a call that is open and changes the outside.",
  },
  { code: /^const set = row\.set === null/, why: "To spread what is not there gives the same." },
  {
    code: /^if \(a\.table !== b\.table\)/,
    why: "Equal tables do not come this far, and no two rows of one table have one key.",
  },
  {
    code: /Object\.fromEntries\(columns\.map/,
    why: "Rows that are gone were left out; the question mark is for the type.",
  },
].map((each) => ({ file: "src/core/project.ts", ...each }));

const requests: readonly Reason[] = [
  { code: /^return last !== 0 \? last/, why: "No two tools have one name, and a sort asks only which is less." },
  {
    code: /^const prompts = state\.prompts \?\?/,
    why: "A request is made after the first pickup, which records them.",
  },
  { code: 'let hash = "";', why: "Where the chain begins is held by the hashes of the golden logs." },
  { code: /^const goesOn = chain !== undefined/, why: "Hashed from the start it is the same." },
].map((each) => ({ file: "src/core/request.ts", ...each }));

const PRINTED = "The printed form is for people; where exactly a long text is cut promises nothing.";
const DIAGNOSED =
  "Asked once Check has refused. A fault more, or in other words, leaves the code of the error and its first path as they are.";

const others: readonly Reason[] = [
  {
    file: "src/core/print.ts",
    code: /^(if \(value\.length <= limit\)|if \(typeof value === "string"\)|const short = )/,
    why: PRINTED,
  },
  {
    file: "src/core/print.ts",
    code: /^if \("text" in body/,
    why: "What has a text has one that is there; this is for the type.",
  },
  { file: "src/core/print.ts", code: /^const why = refused === undefined/, why: PRINTED },
  { file: "src/core/diagnose.ts", code: /./, why: DIAGNOSED },
  {
    file: "src/core/redact.ts",
    code: /^for \(const field of (itemContent|eventContent)/,
    why: "Every type has its list; this is for the type.",
  },
  {
    file: "src/core/redact.ts",
    code: "if (!Object.hasOwn(kept, field)) continue;",
    why: "To take away what is not there changes nothing.",
  },
  {
    file: "src/core/redact.ts",
    code: /^if \(typeof data !== "object"/,
    why: "Neither a text nor a number has a field of such a name.",
  },
  {
    file: "src/core/redact.ts",
    code: /^event\.type === "ToolFinished" && state\.calls\.some/,
    why: "Only a result bears the id of a call that has one.",
  },
  { file: "src/core/redact.ts", code: /^const keys = core \? /, why: "No record has a field of that name." },
  {
    file: "src/core/equal.ts",
    code: /^if \((typeof a|Array\.isArray\(a\)|!Array\.isArray)/,
    why: "Values of two kinds have two prototypes, which are compared below.",
  },
  {
    file: "src/core/equal.ts",
    code: /^for \(let index = 0/,
    why: "Behind the end of both lists there is the same nothing.",
  },
  {
    file: "src/core/usage.ts",
    code: /^if \(tokens === undefined/,
    why: "Whoever counts gives tokens, or says that they are unknown; this is for the type.",
  },
  {
    file: "src/core/envelope.ts",
    code: /^for \(const byte of bytes\) hex/,
    why: "Every digit is there; this is for the type.",
  },
];

const any: readonly Reason[] = [
  { code: /\.\.\.\(.* === undefined \? \{\} : \{/, why: LEFT_OUT },
  { code: /\bthrow new |Error\(/, why: WORDS },
];

const reasons: readonly Reason[] = [
  ...inputs,
  ...records,
  ...approvals,
  ...decisions,
  ...folds,
  ...logs,
  ...recovery,
  ...claims,
  ...codecs,
  ...projected,
  ...requests,
  ...others,
  ...any,
];

/** Null: nobody has given one. */
export const reasonFor = (file: string, code: string): string | null =>
  reasons.find((each) => {
    if (each.file !== undefined && each.file !== file) return false;
    return typeof each.code === "string" ? each.code === code : each.code.test(code);
  })?.why ?? null;
