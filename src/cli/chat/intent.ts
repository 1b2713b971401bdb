// What a typed line means, from where the task stands.
import { answerText, askingCalls, wordsOf } from "../../client/questions.ts";
import { isPending } from "../../core/approval.ts";
import type { NewItem } from "../../core/items.ts";
import type { Call, TaskState } from "../../core/state.ts";
import { inputLine } from "./transcript.ts";

export interface DecideIntent {
  readonly do: "decide";
  readonly request: string;
  readonly decision: "approve" | "deny";
  /** The whole input that is to run instead. */
  readonly input?: unknown;
  readonly reason?: string;
}

export type Intent =
  /** Begin the task with these words. */
  | { readonly do: "create"; readonly text: string }
  | { readonly do: "post"; readonly item: NewItem }
  | DecideIntent
  /** Say something to the person alone. */
  | { readonly do: "tell"; readonly text: string }
  | { readonly do: "leave" };

export const HELP = [
  "Enter sends; while a turn runs, what you say joins it. Ctrl-C interrupts the turn, once more leaves.",
  "/steer TEXT   correct: calls that have not begun are skipped     /interrupt   stop the turn",
  "/resume       go on with what is paused                          /cancel      give the turn up",
  "/answer ID TEXT, /resolve ID done|absent WHAT YOU SAW, /verify ID: for the call named ID",
  "/approve [ID] [JSON], /deny [ID] [REASON]: for a call that waits for a decision; y and n decide on the first",
  "/close        end the task                                       /quit        leave; the task stays",
].join("\n");

export interface Question {
  readonly id: string;
  readonly text: string;
  readonly choices: readonly string[];
}

const questionOf = ({ id, input }: Call): Question => {
  const { text, choices } = wordsOf(input);
  return { id, text: text ?? inputLine(input), choices };
};

/** The questions that wait for the person, in call order. */
export const questionsOf = (state: TaskState | undefined): Question[] =>
  state === undefined ? [] : askingCalls(state).map(questionOf);

const post = (item: NewItem): Intent => ({ do: "post", item });
const usage = (text: string): Intent => ({ do: "tell", text: `write it as ${text}` });

const resolveOf = (rest: string): Intent => {
  const [, callId = "", outcome = "", verification = ""] = /^(\S+)\s+(done|absent)\s+(.+)$/s.exec(rest) ?? [];
  if (verification === "") return usage("/resolve ID done|absent WHAT YOU SAW");
  return post({ type: "Resolve", callId, outcome: outcome as "done" | "absent", verification });
};

const answerOf = (rest: string): Intent => {
  const [, question = "", text = ""] = /^(\S+)\s+(.+)$/s.exec(rest) ?? [];
  return text === "" ? usage("/answer ID TEXT") : post({ type: "Answer", question, text });
};

/** The requests that wait for a decision, in call order. */
export const requestsOf = (state: TaskState | undefined): { readonly request: string; readonly call: Call }[] =>
  (state?.calls ?? []).flatMap((call) =>
    isPending(call) && call.approval !== undefined ? [{ request: call.approval.requestId, call }] : [],
  );

/** An approval, of the corrected input where one is given. */
const approveOf = (request: string, json: string): Intent => {
  if (json === "") return { do: "decide", request, decision: "approve" };
  try {
    return { do: "decide", request, decision: "approve", input: JSON.parse(json) as unknown };
  } catch {
    return { do: "tell", text: `that is no JSON; a correction is the whole input, such as 3 {"path": "a.txt"}` };
  }
};

const denyOf = (request: string, reason: string): Intent => ({
  ...({ do: "decide", request, decision: "deny" } as const),
  ...(reason === "" ? {} : { reason }),
});

/**
 * Which request stood first when the person began to type: null for none, undefined where nobody knows. A decision that
 * names no request is on that one, and on no other that has taken its place meanwhile.
 */
export type Seen = string | null | undefined;

/** Why a decision that names no request cannot be on `request`; null where it can. */
const elsewhere = (request: string | undefined, seen: Seen): Intent | null => {
  if (seen === undefined || seen === (request ?? null)) return null;
  const gone = seen === null ? "nothing waited when you began to type" : `${seen} waits no more`;
  const now = request === undefined ? "nothing does now" : `${request} does: look, then decide`;
  return { do: "tell", text: `nothing was decided: ${gone}, ${now}` };
};

/** `/approve` and `/deny`, with or without the request's or its call's id. */
const decisionOf = (name: "approve" | "deny", rest: string, state: TaskState | undefined, seen: Seen): Intent => {
  const pending = requestsOf(state);
  const [, first = "", more = ""] = /^(\S*)\s*(.*)$/s.exec(rest) ?? [];
  const named = pending.find(({ request, call }) => request === first || call.id === first)?.request;
  const decide = name === "approve" ? approveOf : denyOf;
  if (named !== undefined || /^(?:ask_)?(?:f\d+)?c\d+_\d+/.test(first)) return decide(named ?? first, more);
  const request = pending[0]?.request;
  return (
    elsewhere(request, seen) ??
    (request === undefined ? { do: "tell", text: "nothing waits for a decision" } : decide(request, rest))
  );
};

/** What plain words decide of a request; null where they are something said. */
const plainDecision = (text: string, request: string): Intent | null => {
  if (/^(y|yes|approve|1)$/i.test(text)) return approveOf(request, "");
  const [, reason] = /^(?:n|no|deny|2)(?:$|[\s,]+(.*)$)/is.exec(text) ?? [];
  if (reason !== undefined || /^(n|no|deny|2)$/i.test(text)) return denyOf(request, (reason ?? "").trim());
  const [, json] = /^(?:correct|3)\s+(.+)$/is.exec(text) ?? [];
  if (json !== undefined) return approveOf(request, json);
  return /^(correct|3)$/i.test(text) ? usage("3 and the whole input as JSON") : null;
};

const commandOf = (name: string, rest: string, state: TaskState | undefined, seen: Seen): Intent => {
  switch (name) {
    case "approve":
    case "deny":
      return decisionOf(name, rest, state, seen);
    case "quit":
    case "exit":
      return { do: "leave" };
    case "help":
      return { do: "tell", text: HELP };
    case "steer":
      return rest === "" ? usage("/steer TEXT") : post({ type: "Steer", text: rest });
    case "interrupt":
      return post({ type: "Interrupt" });
    case "cancel":
      return post({ type: "Cancel" });
    case "close":
      return post({ type: "Close" });
    case "resume":
      return post({ type: "Resume", ...(rest === "" ? {} : { text: rest }) });
    case "verify":
      return rest === "" ? usage("/verify ID") : post({ type: "Verify", callId: rest });
    case "resolve":
      return resolveOf(rest);
    case "answer":
      return answerOf(rest);
    default:
      return { do: "tell", text: `there is no /${name}; /help lists what there is` };
  }
};

/** Words alone answer the question that is asked, decide on a request, go on with what is paused, or are said. */
const plainIntent = (text: string, state: TaskState | undefined, seen: Seen): Intent => {
  if (state === undefined) return { do: "create", text };
  const [question] = questionsOf(state);
  if (question !== undefined)
    return post({ type: "Answer", question: question.id, text: answerText(text, question.choices) });
  const asked = requestsOf(state)[0]?.request;
  const about = asked ?? seen ?? undefined;
  const decision = about === undefined ? null : plainDecision(text, about);
  if (decision !== null) return elsewhere(asked, seen) ?? decision;
  return state.waiting?.on === "resume" ? post({ type: "Resume", text }) : post({ type: "Say", text });
};

/** Null for a line that says nothing. */
export const intentOf = (line: string, state: TaskState | undefined, seen?: Seen): Intent | null => {
  const text = line.trim();
  if (text === "") return null;
  const [, name, rest = ""] = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(text) ?? [];
  if (name === undefined) return plainIntent(text, state, seen);
  const intent = commandOf(name, rest.trim(), state, seen);
  return intent.do === "post" && state === undefined
    ? { do: "tell", text: "there is no task yet: say something" }
    : intent;
};
