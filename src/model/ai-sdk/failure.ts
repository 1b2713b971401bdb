// What went wrong with an attempt, as one typed error: from the HTTP status or a typed field, never from matching a text.
// Nothing that is thrown here holds a key, a header or the conversation.
import { ModelError, type ModelErrorClass } from "../model.ts";

export interface FailureFacts {
  /** The model's name, for messages. */
  readonly name: string;
  /** What names the key, such as `ANTHROPIC_API_KEY`; undefined where that is not known. */
  readonly keyName: string | undefined;
  /** Never said. */
  readonly secrets: readonly string[];
  /** Whether an estimate says that the request may not fit. It reads all of it, so it is made only where that counts. */
  readonly mayOverflow: () => boolean;
}

/**
 * Typed fields by class, in the order in which they are looked for: OpenAI gives most refusals of a request the type
 * `invalid_request_error` and says more in `code`.
 * Sources: platform.claude.com/docs/en/api/errors; platform.openai.com/docs/guides/error-codes and the codes of
 * `response.failed`; llama.cpp's server (exceed_context_size_error).
 */
const classOfCode: Readonly<Record<string, ModelErrorClass>> = {
  context_length_exceeded: "overflow",
  string_above_max_length: "overflow",
  request_too_large: "overflow",
  exceed_context_size_error: "overflow",
  model_context_window_exceeded: "overflow",
  content_filter: "refused",
  content_policy_violation: "refused",
  image_content_policy_violation: "refused",
  invalid_api_key: "auth",
  authentication_error: "auth",
  permission_error: "auth",
  billing_error: "auth",
  rate_limit_error: "rate_limited",
  rate_limit_exceeded: "rate_limited",
  insufficient_quota: "rate_limited",
  overloaded_error: "overloaded",
  slow_down: "overloaded",
  server_error: "overloaded",
  api_error: "overloaded",
  timeout_error: "overloaded",
};

/** Said by some servers where there is no status: in the middle of a stream. */
const unsaidStatus: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  BadRequestError: 400,
  invalid_prompt: 400,
  not_found_error: 404,
};

/** What the SDK refuses by itself, before any request: another try meets the same. */
const classOfName: Readonly<Partial<Record<string, ModelErrorClass>>> = {
  AI_LoadAPIKeyError: "auth",
  AI_UnsupportedFunctionalityError: "bad_request",
  AI_InvalidPromptError: "bad_request",
  AI_InvalidArgumentError: "bad_request",
  AI_NoSuchModelError: "bad_request",
};

const classOfStatus = (status: number): ModelErrorClass | null => {
  if (status === 413) return "overflow";
  if (status === 401 || status === 402 || status === 403) return "auth";
  if (status === 425 || status === 429) return "rate_limited";
  if (status === 408) return "network";
  // 503, 529, and whatever else is the server's fault: it may do better on another try.
  if (status === 409 || status >= 500) return "overloaded";
  return status >= 400 ? "bad_request" : null;
};

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;

const parsed = (text: unknown): unknown => {
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The objects of an error in which providers put types and codes. */
const placesOf = (error: Fields): Fields[] =>
  [error["data"] ?? parsed(error["responseBody"]), error].flatMap((body) => {
    if (!isFields(body)) return [];
    const { error: inner, response } = body;
    const failed = isFields(response) ? response["error"] : undefined;
    const details = isFields(inner) ? inner["details"] : undefined;
    return [failed, details, inner, body].filter(isFields);
  });

const wordsOf = (places: readonly Fields[]): (string | number)[] =>
  ["error_code", "code", "type"].flatMap((field) =>
    places.map((place) => place[field]).filter((word) => typeof word === "string" || typeof word === "number"),
  );

/** A status may stand in `code`, as a number or in digits: gateways do so in the middle of a stream. */
const statusIn = (words: readonly (string | number)[]): number | undefined =>
  words.map(Number).find((word) => Number.isInteger(word) && word >= 400 && word <= 599);

interface Told {
  readonly class: ModelErrorClass | null;
  readonly status: number | undefined;
}

const tellClass = (error: Fields): Told => {
  const words = wordsOf(placesOf(error));
  const given = error["statusCode"];
  const status = typeof given === "number" && given >= 400 ? given : statusIn(words);
  const names = Object.keys(classOfCode).filter((code) => words.includes(code));
  const [code] = names;
  if (code !== undefined) return { class: classOfCode[code] ?? null, status };
  const unsaid = words.find((word) => Object.hasOwn(unsaidStatus, word));
  const said = status ?? (unsaid === undefined ? undefined : unsaidStatus[unsaid]);
  return { class: said === undefined ? (classOfName[String(error["name"])] ?? null) : classOfStatus(said), status };
};

const CAUSES = 5;

/** The error's causes, itself first. */
const chainOf = (error: unknown): Fields[] => {
  const chain: Fields[] = [];
  for (let next = error; isFields(next) && chain.length < CAUSES; next = next["cause"]) chain.push(next);
  return chain;
};

const systemCode = (chain: readonly Fields[]): string | undefined =>
  chain.map(({ code }) => code).find((code): code is string => typeof code === "string" && /^[A-Z][A-Z_]+$/.test(code));

/** Seconds or a date; the server's own clock, where it says it, is what a date is relative to. */
const retryAfterOf = (headers: unknown): number | undefined => {
  if (!isFields(headers)) return undefined;
  const { "retry-after-ms": inMs, "retry-after": after, date } = headers;
  const ms = Number(inMs);
  if (typeof inMs === "string" && inMs.trim() !== "" && Number.isFinite(ms)) return Math.max(0, Math.ceil(ms));
  if (typeof after !== "string" || after.trim() === "") return undefined;
  const seconds = Number(after);
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds * 1_000));
  const until = Date.parse(after);
  if (Number.isNaN(until)) return undefined;
  const now = typeof date === "string" ? Date.parse(date) : Number.NaN;
  return Math.max(0, until - (Number.isNaN(now) ? Date.now() : now));
};

const LONGEST_MESSAGE = 500;
/** What is shorter stands for a key where a server wants none. */
const SHORTEST_SECRET = 6;

/** One line without keys. */
const safe = (text: string, secrets: readonly string[]): string => {
  let said = text;
  for (const secret of secrets) if (secret.length >= SHORTEST_SECRET) said = said.replaceAll(secret, "[key]");
  return said.replace(/\s+/g, " ").trim().slice(0, LONGEST_MESSAGE).toWellFormed();
};

const originOf = (url: unknown): string => {
  try {
    return new URL(String(url)).origin;
  } catch {
    return "the server";
  }
};

/** System codes of connections that never came about. */
const unreached: readonly string[] = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
];

const networkMessage = (chain: readonly Fields[]): string => {
  const code = systemCode(chain);
  const { url, statusCode } = chain.find((each) => typeof each["url"] === "string") ?? {};
  const because = code === undefined ? "" : ` (${code})`;
  if (statusCode !== undefined) return `the reply was cut${because}`;
  if (url === undefined) return `the connection failed${because}`;
  const never = code === undefined || unreached.includes(code);
  return never ? `${originOf(url)} cannot be reached${because}` : `the connection to ${originOf(url)} broke${because}`;
};

/** The provider's text for anything but a refused key: that text may quote the key, in whole or in part. */
const messageFor = (told: Told & { class: ModelErrorClass }, chain: readonly Fields[], facts: FailureFacts): string => {
  const status = told.status === undefined ? "" : ` (${String(told.status)})`;
  if (told.class === "network" && told.status === undefined) return networkMessage(chain);
  if (told.class === "auth") {
    const { keyName } = facts;
    return `the provider refuses the key or what it may do${status}${keyName === undefined ? "" : `; see ${keyName}`}`;
  }
  const text = chain.map(({ message }) => message).find((each) => typeof each === "string" && each !== "");
  return `${safe(typeof text === "string" ? text : told.class, facts.secrets)}${status}`;
};

/**
 * A model that gives only a text for an overflow (Anthropic's 400 "prompt is too long", vLLM's 400) is told by an estimate of
 * what was sent: only where that says that the request may not fit is a plain 400 an overflow.
 */
const refine = (told: Told, facts: FailureFacts): ModelErrorClass | null =>
  told.class === "bad_request" && (told.status ?? 400) === 400 && facts.mayOverflow() ? "overflow" : told.class;

/** An error that came in the stream, or that the call threw. Never returns `aborted`: that is the signal's to say. */
export const failureOf = (error: unknown, facts: FailureFacts, { inStream = false } = {}): ModelError => {
  if (error instanceof ModelError) return error;
  const chain = chainOf(error);
  const told = tellClass(chain[0] ?? {});
  // An error in mid-stream that says nothing of itself is the server's; anything else without a status is the network's.
  const spoken = inStream && chain.length > 0 && !(error instanceof Error);
  const errorClass = refine(told, facts) ?? (spoken ? "overloaded" : "network");
  const message = messageFor({ ...told, class: errorClass }, chain, facts);
  const retryAfterMs = retryAfterOf(chain[0]?.["responseHeaders"]);
  const code = systemCode(chain);
  return new ModelError(errorClass, `${facts.name}: ${message}`, {
    ...(code === undefined ? {} : { cause: new Error(code) }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(told.status === undefined ? {} : { status: told.status }),
  });
};
