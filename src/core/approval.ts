// What is allowed, asked for or denied before a call may start, and how a request is named. Pure.
import { changesOutside, type Effect } from "./events.ts";
import type { Mac } from "./request.ts";
import type { Call, TaskState } from "./state.ts";

/** `ask`: somebody has to decide. */
export type Verdict = "allow" | "ask" | "deny";

/** What an agent's operator wants asked: by effect and by tool name. What is not named is allowed. */
export interface ApprovalPolicy {
  readonly effects?: Readonly<Partial<Record<Effect, Verdict>>>;
  readonly tools?: Readonly<Record<string, Verdict>>;
}

const order: readonly Verdict[] = ["allow", "ask", "deny"];

/** Whoever is strictest wins; nobody allows what another asks for. */
export const strictest = (verdicts: readonly (Verdict | undefined)[]): Verdict =>
  order[Math.max(0, ...verdicts.map((verdict) => (verdict === undefined ? 0 : order.indexOf(verdict))))] ?? "allow";

export const policyVerdict = (
  { effects = {}, tools = {} }: ApprovalPolicy,
  tool: { readonly name: string; readonly effect: Effect },
): Verdict => strictest([effects[tool.effect], Object.hasOwn(tools, tool.name) ? tools[tool.name] : undefined]);

/** Somebody else steered the task: what changes the outside is the owner's to approve, whatever else allows it. */
export const needsOwner = (state: Pick<TaskState, "steeredByOther">, effect: Effect): boolean =>
  state.steeredByOther === true && changesOutside({ effect });

/** The call waits for a decision on its newest request. */
export const isPending = (call: Call): boolean =>
  call.phase === "parked" && call.parked?.on === "approval" && call.approval !== undefined;

/** For ever the same request's: it follows from the call, and from how often that was asked about before. */
export const requestIdOf = ({ id, asked = 0 }: Pick<Call, "id" | "asked">): string =>
  asked === 0 ? `ask_${id}` : `ask_${id}_${String(asked + 1)}`;

/** The timer that wakes the task when nobody has decided in time. */
export const expiryTimerOf = (requestId: string): string => `expiry of ${requestId}`;

/** Under the task's secret: of the input as it will run. */
export const inputHashOf = (mac: Mac, input: unknown): string => mac(`input\n${JSON.stringify(input) ?? "null"}`);
