// The printed form of a log: one line per event. It serves tests, `perdure log`, the docs and bug reports.
import type { Event, EventOf, Recorded } from "./events.ts";
import type { Item } from "./items.ts";
import { textOf, type Content, type ReplyPart } from "./messages.ts";

/** Texts longer than this are cut in the printed form, never in the log. */
const LIMIT_CHARS = 100;

const clip = (value: string, limit = LIMIT_CHARS): string => {
  if (value.length <= limit) return value;
  const cut = Array.from(value.slice(0, limit)).slice(0, -1).join("");
  return `${cut}…(${String(value.length)} chars)`;
};

const quote = (value: string): string => {
  const quoted = JSON.stringify(value);
  return quoted.length <= LIMIT_CHARS + 2 ? quoted : `${clip(quoted.slice(0, -1))}"`;
};

const isPlain = (value: string): boolean => /^[\w./@:*+-]+$/.test(value) && !/^[\d-]/.test(value);

/** JSON as a person would write it: bare keys and words, the rest quoted. */
const loose = (value: unknown, depth = 0): string => {
  if (typeof value === "string") return isPlain(value) && value.length <= LIMIT_CHARS ? value : quote(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (depth > 3) return "…";
  if (Array.isArray(value)) return `[${value.map((entry) => loose(entry, depth + 1)).join(", ")}]`;
  const entries = Object.entries(value).map(
    ([key, entry]) => `${isPlain(key) ? key : quote(key)}: ${loose(entry, depth + 1)}`,
  );
  return `{${entries.join(", ")}}`;
};

const short = (hash: string): string => (hash.length > 8 ? `${hash.slice(0, 8)}…` : hash);

const itemText = (item: Item): string => {
  const { seq: _seq, at: _at, by: _by, key: _key, refused, type, redacted, ...body } = item;
  const why = refused === undefined ? "" : ` refused=${loose(refused)}`;
  if (redacted === true) return `${type} [redacted]${why}`;
  if ("text" in body && Object.keys(body).length === 1) return `${type} ${quote(body.text ?? "")}${why}`;
  return Object.keys(body).length === 0 ? `${type}${why}` : `${type} ${loose(body)}${why}`;
};

const partText = (part: ReplyPart): string => {
  if (part.type === "text") return quote(part.text);
  if (part.type === "reasoning") return `reasoning ${quote(part.text)}`;
  return `${loose(part.name)} ${loose(part.input)}`;
};

const contentText = (content: Content): string => {
  const files = content.flatMap((part) =>
    part.type === "file" ? [`file ${loose(part.name)} (${loose(part.mediaType)})`] : [],
  );
  const words = textOf(content);
  return [...(words !== "" || files.length === 0 ? [quote(words)] : []), ...files].join(" ");
};

const repliedText = (event: EventOf<"ModelReplied">): string => {
  const parts = event.message.parts.map(partText).join("  ");
  const calls = event.message.parts.some((part) => part.type === "call") ? "tool_use " : "";
  return `${calls}${parts}   stop_reason=${event.stopReason}`;
};

const finishedText = (event: EventOf<"ToolFinished">): string => {
  const status = event.status === "ok" ? "" : `${event.status} `;
  const by = event.settledBy === undefined ? "" : `  settled_by=${event.settledBy}`;
  return `${event.callId} ${status}${contentText(event.content)}${by}`;
};

const startedText = (event: EventOf<"ToolStarted">): string => {
  const again = event.attempt > 1 ? `  attempt=${String(event.attempt)}` : "";
  return `${event.callId} ${loose(event.name)} ${loose(event.input)}${again}`;
};

const waitingText = (event: EventOf<"Waiting">): string => {
  const { answer, waits } = event.detail;
  const detail = { ...(answer === undefined ? {} : { answer }), ...(waits === undefined ? {} : { waits }) };
  const outcome = event.outcome === undefined ? "" : `  outcome=${event.outcome}`;
  const reason = event.reason === undefined ? "" : `  reason=${loose(event.reason)}`;
  return `on=${event.on}${outcome}${reason}${Object.keys(detail).length === 0 ? "" : `  detail=${loose(detail)}`}`;
};

const recordText = (event: EventOf<"ExtensionRecorded">): string => {
  const name = `${event.extension}/${event.kind}`.padEnd(14);
  const message = event.message === undefined ? "" : `  message=${contentText(event.message)}`;
  return `${name} ${clip(loose(event.data), 160)}${message}`;
};

const attempt = (event: EventOf<"ModelCalled">): string =>
  event.attempt > 1 ? `  attempt=${String(event.attempt)}` : "";

const bodyText = (event: Event): string => {
  switch (event.type) {
    case "TaskCreated":
      return `agent=${loose(event.agent)}  mode=${event.mode}  owner=${loose(event.owner)}`;
    case "InputTaken":
      return `items=[${event.items.map(itemText).join(", ")}]  through=${String(event.through)}`;
    case "ModelCalled":
      return `model=${loose(event.model)}  request_hash=${short(event.requestHash)}${attempt(event)}`;
    case "ModelReplied":
      return repliedText(event);
    case "ToolStarted":
      return startedText(event);
    case "ToolFinished":
      return finishedText(event);
    case "Compacted":
      return `through=${String(event.through)}  summary=${quote(event.summary)}`;
    case "Waiting":
      return waitingText(event);
    case "TaskEnded": {
      const answer = event.answer === undefined ? "" : `  answer=${quote(event.answer)}`;
      return `outcome=${event.outcome}${answer}${event.reason === undefined ? "" : `  reason=${loose(event.reason)}`}`;
    }
    case "ExtensionRecorded":
      return recordText(event);
  }
};

const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** One line, without a line break or anything else that a terminal obeys. `width` is that of the seq column. */
export const printEvent = ({ seq, event }: Omit<Recorded, "at">, width = 2): string => {
  const mark = event.redacted === true ? "[redacted] " : "";
  const line = `${String(seq).padStart(width)} ${event.type.padEnd(18)} ${mark}${bodyText(event)}`;
  return line.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, escape);
};

export const printLog = (log: readonly Omit<Recorded, "at">[]): string => {
  const width = Math.max(2, String(log.at(-1)?.seq ?? 0).length);
  return log.map((recorded) => printEvent(recorded, width)).join("\n");
};
