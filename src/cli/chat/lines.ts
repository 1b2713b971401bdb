// Blocks and what goes on now as lines of text, for the screen and for plain output alike. Colour adds nothing that the words
// do not say.
import { textOf } from "../../core/messages.ts";
import type { Call, TaskState } from "../../core/state.ts";
import type { Saved, Status } from "../../plugins/plan/saved.ts";
import { oneLine } from "../one-line.ts";
import { safe } from "../program.ts";
import { questionsOf, requestsOf } from "./intent.ts";
import { inputLine, lineOf, type Block, type Transcript } from "./transcript.ts";

/** An output longer than this is folded; all of it is in the log. */
const OUTPUT_LINES = 6;
const LINE_CHARS = 200;
/** So many requests are named where they are told in brief. */
const BRIEF_REQUESTS = 5;

export const seconds = (ms: number): string =>
  ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${String(Math.round(ms / 1_000))} s`;

const clipped = (line: string): string => (line.length <= LINE_CHARS ? line : `${line.slice(0, LINE_CHARS - 1)}…`);

/** The first lines of an output, and how many more there are. */
export const folded = (output: string): string[] => {
  const lines = safe(output).trimEnd().split("\n");
  const more = lines.length - OUTPUT_LINES;
  const shown = lines.slice(0, more === 1 ? OUTPUT_LINES + 1 : OUTPUT_LINES).map(clipped);
  return more > 1 ? [...shown, `… ${String(more)} more lines`] : shown;
};

const statusWord = { ok: "done", error: "failed", denied: "denied", skipped: "skipped" } as const;

/** The head of a block, and its lines. */
export const blockLines = (block: Block): { readonly head: string; readonly lines: readonly string[] } => {
  switch (block.kind) {
    case "person":
      return { head: "you", lines: safe(block.text).split("\n") };
    case "agent":
      return { head: "agent", lines: safe(block.text).split("\n") };
    case "call": {
      const took = block.durationMs === null ? "" : ` in ${seconds(block.durationMs)}`;
      const head = safe(`${block.name} ${block.input}`.trim());
      const lines = block.output.trim() === "" ? [] : folded(block.output);
      return { head: `${head}  ${statusWord[block.status]}${took}`, lines };
    }
    case "asked":
      return { head: "asks", lines: block.lines };
    case "note":
      return { head: "note", lines: safe(block.text).split("\n") };
  }
};

const phaseWord = (call: Call, now: number): string => {
  const since = call.startedAt === undefined ? "" : ` ${seconds(Math.max(0, now - call.startedAt))}`;
  switch (call.phase) {
    case "waiting":
      return "waits its turn";
    case "parked":
      return `waits for ${call.parked?.on ?? "something"}`;
    case "started":
      return `runs${since}`;
    case "unknown":
      return "unknown: it may or may not have happened";
    case "detached":
      return `runs in the background${since}`;
    case "finished":
      return "done";
  }
};

/** The calls that are not over, each with its state and time; questions and requests stand by themselves. */
export const callLines = (state: TaskState | undefined, now: number): string[] =>
  (state?.calls ?? [])
    .filter(
      ({ phase, parked }) =>
        phase !== "finished" && !(phase === "parked" && (parked?.on === "answer" || parked?.on === "approval")),
    )
    .map((call) => safe(`${`${call.id} ${call.name} ${inputLine(call.input)}`.trimEnd()}  ${phaseWord(call, now)}`));

/** What is asked of the person, and how to answer. */
export const questionLines = (state: TaskState | undefined): string[] => {
  const questions = questionsOf(state);
  const hint = questions.length > 1 ? ["What you type answers the first; /answer ID TEXT another."] : [];
  const asked = questions.flatMap(({ id, text, choices }) => [
    safe(`${id} asks: ${text}`),
    ...choices.map((choice, index) => safe(`  ${String(index + 1)}. ${choice}`)),
  ]);
  return [...asked, ...hint];
};

const HOW_TO_DECIDE = "  1. yes   2. no   3. with another input: 3 JSON";

const decidesOnFirst = (pending: readonly unknown[]): string[] =>
  pending.length > 1 ? ["What you type decides on the first; /approve ID and /deny ID on another."] : [];

type Pending = ReturnType<typeof requestsOf>[number];

/** A request whole, exactly as it would run. */
export const requestLines = ({ requests }: Transcript, { request, call }: Pending): string[] => {
  const { input, items = [], reason, expiresAt } = requests.get(request) ?? {};
  const shown = call.redacted === true ? "(redacted)" : JSON.stringify(input ?? call.input);
  return [
    safe(`${request}: may ${call.name} run with ${shown}`),
    ...items.map((item) => safe(`  - ${item}`)),
    ...(reason === undefined ? [] : [safe(`  ${reason}`)]),
    ...(expiresAt === undefined ? [] : [`  expires ${new Date(expiresAt).toISOString()}`]),
  ];
};

/** What waits for a decision, exactly as it would run, and how to decide. */
export const approvalLines = (transcript: Transcript): string[] => {
  const pending = requestsOf(transcript.state);
  const asked = pending.flatMap((each) => [...requestLines(transcript, each), HOW_TO_DECIDE]);
  return [...asked, ...decidesOnFirst(pending)];
};

/** The same in few lines, where each request stands whole above. */
export const briefApprovalLines = ({ state }: Transcript, columns: number): string[] => {
  const pending = requestsOf(state);
  const more = pending.length - BRIEF_REQUESTS;
  return [
    ...pending
      .slice(0, BRIEF_REQUESTS)
      .map(({ request, call }) => oneLine(safe(`${request}: ${call.name}, as it stands above`), columns)),
    ...(more > 0 ? [`and ${String(more)} more`] : []),
    ...(pending.length === 0 ? [] : [HOW_TO_DECIDE]),
    ...decidesOnFirst(pending),
  ];
};

/** Words that were accepted and have not joined yet: those that nobody has taken, and those that wait for results. */
export const queuedLines = ({ state, sent, inputs }: Transcript): string[] => {
  const holds = state?.calls.some(({ phase }) => phase !== "finished") === true;
  const queued = (holds ? state.queue : []).flatMap((message) =>
    message.role === "user" && inputs.has(message.seq) ? [textOf(message.content)] : [],
  );
  return [
    ...[...sent.values()].map((text) => safe(`saved, joins after this step: ${lineOf(text)}`)),
    ...queued.map((text) => safe(`queued until then: ${lineOf(text)}`)),
  ];
};

/** Actions that only a person or their own check can settle. */
export const unknownLines = (state: TaskState | undefined): string[] =>
  (state?.calls ?? [])
    .filter(({ phase }) => phase === "unknown")
    .map(({ id }) => `look whether ${id} happened: /resolve ${id} done|absent WHAT YOU SAW, or /verify ${id}`);

/** Of reasons that do not say enough by themselves. */
const meanings: Readonly<Record<string, string>> = {
  restored: "restored from a backup; what it did after that is not in its log",
};

const mark = { done: "x", in_progress: ">", blocked: "!", open: " " } as const;

/** The plan and the goals as they stand, where the agent keeps some. */
export const planLines = (state: TaskState | undefined): string[] => {
  const saved = state?.plugins["plan"] as Partial<Saved> | undefined;
  const lines = (what: string, list: readonly { readonly status: Status; readonly text: string }[] = []): string[] =>
    list.map(({ status, text }) => safe(`${what} [${mark[status]}] ${lineOf(text)}`));
  return [...lines("plan", saved?.steps), ...lines("goal", saved?.goals)];
};

const restLine = ({ waiting, ended }: TaskState): string => {
  if (ended !== undefined) return `the task has ended: ${ended.outcome}`;
  const { on, outcome, reason } = waiting ?? { on: "input" };
  const why = reason === undefined ? "" : ` (${meanings[reason] ?? reason})`;
  if (on === "resume") return `${outcome ?? "paused"}${why}: what you say goes on with it, or /resume`;
  if (on === "input") return outcome === undefined || outcome === "completed" ? "ready" : `${outcome}${why}`;
  return `waits for ${on}${why}`;
};

/** Where the task stands, in one line. */
export const statusLine = ({ state, thinking }: Transcript, now: number): string => {
  if (state === undefined) return "say what is to be done";
  if (state.waiting !== undefined || state.ended !== undefined) return safe(restLine(state));
  const { open, retryAt } = state.model;
  if (open !== undefined) return thinking ? "thinks" : `asks ${safe(open.model)}`;
  if (retryAt !== undefined && retryAt > now) return `tries again in ${seconds(retryAt - now)}`;
  return "works";
};
