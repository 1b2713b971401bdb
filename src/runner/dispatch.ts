// Runs one announced call: hands the tool its context, bounds it in time, and says what came of it.
import type { Call } from "../core/state.ts";
import { text, type Content } from "../core/messages.ts";
import {
  NothingHappened,
  type NewRecord,
  type PreparedTool,
  type ToolContext,
  type ToolOutput,
} from "../plugins/plugin.ts";
import { plainRecord } from "./records.ts";
import { execOf, stateOf, storeNow, type Lost, type Run } from "./run.ts";

export type Output = Exclude<ToolOutput, string>;

/** `lost`: dispatched, and nobody can say whether it took effect. */
export type Outcome =
  | { readonly kind: "returned"; readonly output: Output; readonly records: readonly NewRecord[] }
  | { readonly kind: "failed"; readonly message: string; readonly records: readonly NewRecord[] }
  | { readonly kind: "lost"; readonly lost: Lost };

export const contentOf = (content: string | Content): Content =>
  typeof content === "string" ? [text(content)] : content;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The context of one dispatch; what the tool records is collected in `records`. */
export const toolContext = async (
  run: Run,
  call: Call,
  prepared: PreparedTool,
  signal: AbortSignal,
  records: NewRecord[],
): Promise<ToolContext> => {
  const { plugin } = prepared;
  const state = stateOf(run);
  return {
    taskId: run.claim.taskId,
    callId: call.id,
    invocationId: call.invocationId ?? "",
    attempt: call.attempt,
    fence: run.claim.fence,
    signal,
    exec: await execOf(run),
    mac: run.mac,
    state: Object.hasOwn(state.plugins, plugin.name) ? state.plugins[plugin.name] : plugin.reducer?.initial(),
    record: (record) => {
      // Refused here, inside the tool, rather than when its result is already there.
      records.push(plainRecord(plugin, record));
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

/** The tool's signal: aborted by its time limit, by a person's interrupt or cancel, or by a lost claim. */
const bound = (run: Run, timeoutMs: number | undefined): Bound => {
  const timeout = new AbortController();
  const done = new AbortController();
  const signal = AbortSignal.any([timeout.signal, run.watch.control, run.lease.lost]);
  const { clock, limits } = run.ports;
  const ignore = (): undefined => undefined;
  if (timeoutMs !== undefined) {
    clock.sleep(timeoutMs, done.signal).then(() => {
      timeout.abort(new Error(`timed out after ${String(timeoutMs)} ms`));
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
    stoppedBy: () => (timeout.signal.aborted ? "timed_out" : signal.aborted ? "interrupted" : null),
    release: () => {
      done.abort(new Error("done"));
    },
  };
};

const changesOutside = (prepared: PreparedTool): boolean =>
  prepared.tool.effect === "write" || prepared.tool.effect === "destructive";

const returned = async (prepared: PreparedTool, output: ToolOutput | NothingHappened): Promise<Output> => {
  if (output instanceof NothingHappened) throw output;
  if (prepared.tool.outputSchema !== undefined) {
    const checked = await prepared.checkOutput(output);
    if (!checked.ok) throw new InvalidOutput(`its output is not what it declares: ${checked.message}`);
  }
  const plain: unknown = typeof output === "string" ? { content: output } : asJson(output);
  if (!isOutput(plain)) throw new InvalidOutput("it returned no content");
  return plain;
};

/** What the log can hold of it: JSON. */
const asJson = (value: unknown): unknown => {
  try {
    return JSON.parse(JSON.stringify(value)) as unknown;
  } catch (cause) {
    throw new InvalidOutput("it returned something that is not JSON", { cause });
  }
};

const isPart = (part: unknown): boolean => {
  if (typeof part !== "object" || part === null) return false;
  const { type, text: words, name } = part as Record<string, unknown>;
  return (type === "text" && typeof words === "string") || (type === "file" && typeof name === "string");
};

const isOutput = (value: unknown): value is Output => {
  if (typeof value !== "object" || value === null || !("content" in value)) return false;
  const { content } = value;
  return typeof content === "string" || (Array.isArray(content) && content.every(isPart));
};

class InvalidOutput extends Error {}

const judge = (run: Run, prepared: PreparedTool, error: unknown, bounds: Bound, records: NewRecord[]): Outcome => {
  const message = messageOf(error);
  const stoppedBy = bounds.stoppedBy();
  if (error instanceof NothingHappened || !changesOutside(prepared)) {
    const why = stoppedBy === null || error instanceof NothingHappened ? message : `${stoppedBy}: ${message}`;
    return { kind: "failed", message: why, records };
  }
  const reason = error instanceof InvalidOutput ? "invalid_output" : (stoppedBy ?? "threw");
  return { kind: "lost", lost: { reason, message, at: storeNow(run) } };
};

/** Dispatches a call that ToolStarted announced. Never throws for what the tool does. */
export const dispatch = async (run: Run, call: Call, prepared: PreparedTool): Promise<Outcome> => {
  const { tool } = prepared;
  const timeoutMs = tool.timeoutMs ?? (changesOutside(prepared) ? undefined : run.ports.limits.readTimeoutMs);
  const records: NewRecord[] = [];
  const bounds = bound(run, timeoutMs);
  try {
    const context = await toolContext(run, call, prepared, bounds.signal, records);
    const checked = await prepared.checkInput(call.input);
    if (!checked.ok) throw new NothingHappened(`The input does not fit the tool's schema: ${checked.message}`);
    // An async function turns a synchronous throw of the tool into a rejection.
    const executing = (async () => tool.execute(checked.value as never, context))();
    const output = await returned(prepared, await Promise.race([executing, bounds.abandoned]));
    return { kind: "returned", output, records };
  } catch (error) {
    return judge(run, prepared, error, bounds, records);
  } finally {
    bounds.release();
  }
};
