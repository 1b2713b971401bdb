// Runs one announced call: hands the tool its context, bounds it in time, and says what came of it.
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { Source, changesOutside, type Event } from "../core/events.ts";
import { Content, Json, text } from "../core/messages.ts";
import { waitsOutside } from "../core/records.ts";
import type { Call } from "../core/state.ts";
import {
  NothingHappened,
  type Parked,
  type PreparedTool,
  type ToolContext,
  type ToolOutput,
} from "../plugins/plugin.ts";
import type { Made } from "./outliving.ts";
import { linkSignals } from "./linked-signal.ts";
import { pluginRecord } from "./records.ts";
import { execOf, guardClaim, stateOf, storeNow, type Lost, type Run } from "./run.ts";

export type Output = Exclude<ToolOutput, string | Parked>;

/** `lost`: dispatched, and nobody can say whether it took effect. */
export type Outcome =
  | { readonly kind: "returned"; readonly output: Output; readonly made: Outcomes }
  | { readonly kind: "parked"; readonly park: Parked["park"]; readonly made: Outcomes }
  | { readonly kind: "failed"; readonly message: string; readonly made: Outcomes }
  | { readonly kind: "lost"; readonly lost: Lost };

/** What came of a handler beside its result. */
export interface Outcomes extends Made {
  readonly records: Event[];
}

export const contentOf = (content: string | Content): Content =>
  typeof content === "string" ? [text(content)] : content;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The context of one dispatch; what the tool records, and whether it looked at its state, is collected in `made`. */
export const toolContext = async (
  run: Run,
  call: Call,
  prepared: PreparedTool,
  signal: AbortSignal,
  made: Outcomes,
): Promise<ToolContext> => {
  const { plugin } = prepared;
  const { plugins } = stateOf(run);
  const own = Object.hasOwn(plugins, plugin.name) ? plugins[plugin.name] : plugin.reducer?.initial();
  const { revision } = run.journal;
  return {
    taskId: run.claim.taskId,
    callId: call.id,
    invocationId: call.invocationId ?? "",
    attempt: call.attempt,
    fence: run.claim.fence,
    signal,
    exec: await execOf(run),
    mac: run.mac,
    get state() {
      made.quotes = revision;
      return own;
    },
    record: (record) => {
      // Refused here, inside the tool, rather than when its result is already there.
      made.records.push(pluginRecord(plugin, record));
    },
  };
};

interface Bound {
  readonly signal: AbortSignal;
  /** Rejects once the tool has had `abandonMs` after its signal was aborted. */
  readonly abandoned: Promise<never>;
  readonly stoppedBy: () => "timed_out" | "interrupted" | null;
  release(): void;
}

/** Why the timers of a call that is over are stopped: nobody looks at it. */
const DONE = new Error("done");

/** The tool's signal: aborted by its time limit, by a person's interrupt or cancel, by a lost claim, or by one of `more`. */
export const bound = (run: Run, timeoutMs: number | undefined, ...more: readonly AbortSignal[]): Bound => {
  guardClaim(run);
  const done = new AbortController();
  const { watch, lease } = run;
  const linked = linkSignals(watch.control, lease.lost, lease.doubted, ...more);
  const { signal } = linked;
  let timedOut = false;
  const { clock, limits } = run.ports;
  const ignore = (): undefined => undefined;
  if (timeoutMs !== undefined) {
    clock.sleep(timeoutMs, done.signal).then(() => {
      timedOut = true;
      linked.abort(new Error(`timed out after ${String(timeoutMs)} ms`));
    }, ignore);
  }
  const { promise: abandoned, reject } = Promise.withResolvers<never>();
  abandoned.catch(ignore);
  const abandon = (): void => {
    const giveUp = (): void => {
      reject(new Error(`given up ${String(limits.abandonMs)} ms after it was told to stop`));
    };
    clock.sleep(limits.abandonMs, done.signal).then(giveUp, ignore);
  };
  if (signal.aborted) abandon();
  else signal.addEventListener("abort", abandon, { once: true });
  return {
    signal,
    abandoned,
    stoppedBy: () => (timedOut ? "timed_out" : signal.aborted ? "interrupted" : null),
    release: () => {
      linked.release();
      done.abort(DONE);
    },
  };
};

const returnedForm = Compile(
  Type.Object({
    content: Type.Union([Type.String(), Content]),
    isError: Type.Optional(Type.Boolean()),
    details: Type.Optional(Json),
    resources: Type.Optional(Type.Array(Type.String())),
    sources: Type.Optional(Type.Array(Source)),
  }),
);

const parkedForm = Compile(
  Type.Object({
    park: Type.Object({
      on: waitsOutside,
      ref: Type.Optional(Type.String()),
      detail: Type.Optional(Json),
    }),
  }),
);

const parks = (output: unknown): output is Parked =>
  typeof output === "object" && output !== null && Object.hasOwn(output, "park");

/** What a tool that parks its call returned, as the log can hold it. */
const parked = (prepared: PreparedTool, output: Parked): Parked["park"] => {
  if (prepared.tool.effect !== "internal") throw new InvalidOutput("only an internal tool can park its call");
  const plain = asJson(output);
  if (parkedForm.Check(plain)) return plain.park;
  throw new InvalidOutput("what it parks its call on is not a wait that ends from outside");
};

const returned = async (
  prepared: PreparedTool,
  output: Exclude<ToolOutput, Parked> | NothingHappened,
): Promise<Output> => {
  if (output instanceof NothingHappened) throw output;
  if (prepared.tool.outputSchema !== undefined) {
    const checked = await prepared.checkOutput(output);
    if (!checked.ok) throw new InvalidOutput(`its output is not what it declares: ${checked.message}`);
  }
  const plain: unknown = typeof output === "string" ? { content: output } : asJson(output);
  if (returnedForm.Check(plain)) return plain;
  const [fault] = returnedForm.Errors(plain);
  throw new InvalidOutput(`what it returned is no output: ${fault?.instancePath ?? ""} ${fault?.message ?? ""}`);
};

/** What the log can hold of it: JSON. */
const asJson = (value: unknown): unknown => {
  try {
    return JSON.parse(JSON.stringify(value)) as unknown;
  } catch (cause) {
    throw new InvalidOutput("it returned something that is not JSON", { cause });
  }
};

class InvalidOutput extends Error {}

const judge = (run: Run, { tool }: PreparedTool, error: unknown, bounds: Bound, made: Outcomes): Outcome => {
  const message = messageOf(error);
  const stoppedBy = bounds.stoppedBy();
  if (error instanceof NothingHappened || !changesOutside(tool)) {
    const why = stoppedBy === null || error instanceof NothingHappened ? message : `${stoppedBy}: ${message}`;
    return { kind: "failed", message: why, made };
  }
  const reason = error instanceof InvalidOutput ? "invalid_output" : (stoppedBy ?? "threw");
  return { kind: "lost", lost: { reason, message, quotes: made.quotes, at: storeNow(run) } };
};

/** What the handler is handed. Where this fails, it was not called. */
const handed = async (run: Run, call: Call, prepared: PreparedTool, signal: AbortSignal, made: Outcomes) => {
  try {
    const checked = await prepared.checkInput(call.input);
    if (!checked.ok) throw new Error(`The input does not fit the tool's schema: ${checked.message}`);
    return { input: checked.value, context: await toolContext(run, call, prepared, signal, made) };
  } catch (cause) {
    throw new NothingHappened(messageOf(cause), { cause });
  }
};

/** Dispatches a call that ToolStarted announced. Never throws for what the tool does. */
export const dispatch = async (run: Run, call: Call, prepared: PreparedTool): Promise<Outcome> => {
  const { tool } = prepared;
  const timeoutMs = tool.timeoutMs ?? (changesOutside(tool) ? undefined : run.ports.limits.readTimeoutMs);
  const made: Outcomes = { records: [], quotes: null };
  const bounds = bound(run, timeoutMs);
  try {
    const { input, context } = await handed(run, call, prepared, bounds.signal, made);
    // An async function turns a synchronous throw of the tool into a rejection.
    const executing = (async () => tool.execute(input as never, context))();
    const output = await Promise.race([executing, bounds.abandoned]);
    if (parks(output)) return { kind: "parked", park: parked(prepared, output), made };
    return { kind: "returned", output: await returned(prepared, output), made };
  } catch (error) {
    return judge(run, prepared, error, bounds, made);
  } finally {
    bounds.release();
  }
};
