// What surrounds a pure run: its tools, and what people and other systems may post to its inbox.
import type { Item, NewItem } from "../../core/items.ts";
import type { ToolDefinition } from "../../core/request.ts";
import type { TaskState } from "../../core/state.ts";
import type { Choices } from "./choices.ts";
import { OWNER, item, tool } from "../given.ts";

/** Lets an idempotent write be dispatched again for this long (ms). */
const TTL_MS = 60_000;

/** One tool of each sort that `decide` tells apart, and those that park or go on in the background. */
export const worldTools = [
  tool("look"),
  tool("note", { effect: "internal" }),
  tool("send", { effect: "write" }),
  tool("put", { effect: "write", verify: true }),
  tool("pay", { effect: "write", idempotent: { ttlMs: TTL_MS } }),
  tool("wipe", { effect: "destructive", onUnknown: "tell" }),
  tool("ask", { effect: "internal" }),
  tool("sleep", { effect: "internal" }),
  tool("hear", { effect: "internal" }),
  tool("spawn", { effect: "internal" }),
  tool("job", { effect: "write" }),
] as const;

/** What a call of these tools parks on. */
export const parksOn: Readonly<Record<string, "answer" | "timer" | "signal" | "children">> = {
  ask: "answer",
  sleep: "timer",
  hear: "signal",
  spawn: "children",
};

export const worldDefinitions: ReadonlyMap<string, ToolDefinition> = new Map(
  worldTools.map(({ name, definition, effect }) => [
    definition,
    { name, description: `does ${name}`, inputSchema: { type: "object" }, effect },
  ]),
);

type Make = (state: TaskState, choices: Choices) => NewItem;

const someCall = (state: TaskState, choices: Choices, wanted: (phase: string) => boolean): string => {
  const ids = state.calls.filter((call) => wanted(call.phase)).map((call) => call.id);
  return ids[choices.below(Math.max(1, ids.length))] ?? "c1_0";
};

const makers: readonly Make[] = [
  () => ({ type: "Say", text: "please" }),
  (_, choices) => ({ type: "Say", text: choices.of([" ", "", "the objective"]) }),
  () => ({ type: "Say", text: "", files: [{ type: "file", name: "a.png", mediaType: "image/png", size: 1 }] }),
  () => ({ type: "Steer", text: "rather so" }),
  (state, choices) => ({
    type: "Decide",
    requestId: `approve ${someCall(state, choices, (phase) => phase === "parked")}`,
    inputHash: "h",
    showing: 1,
    decision: choices.of(["approve", "deny"]),
  }),
  (state, choices) => ({
    type: "Answer",
    question: someCall(state, choices, (phase) => phase === "parked"),
    text: "42",
  }),
  (_, choices) => ({ type: "Signal", name: choices.of(["bell", "gong"]), data: { n: 1 } }),
  (state, choices) => ({
    type: "ChildEnded",
    childId: "task1.c1.1",
    callId: someCall(state, choices, (phase) => phase === "parked"),
    outcome: choices.of(["done", "failed", "cancelled"]),
    answer: "from a child",
  }),
  () => ({ type: "Interrupt" }),
  () => ({ type: "Cancel", reason: "enough" }),
  () => ({ type: "Close" }),
  () => ({ type: "Resume" }),
  () => ({ type: "Resume", text: "go on like this" }),
  (state, choices) => ({
    type: "Resolve",
    callId: someCall(state, choices, (phase) => phase === "unknown"),
    outcome: choices.of(["done", "absent"]),
    verification: "looked at it",
  }),
  (state, choices) => ({ type: "Verify", callId: someCall(state, choices, (phase) => phase === "unknown") }),
  () => ({ type: "SourceChanged", source: "s1", deleted: false }),
  () => ({ type: "Handoff", origin: { frontEnd: "cli", place: "there", conversation: "two", private: true } }),
  (_, choices) => ({ type: "Collaborate", principal: "local:friend", change: choices.of(["add", "remove"]) }),
  () => ({ type: "Reconfigure", settings: { temperature: 0.5 } }),
];

/** Something that someone may post now, of any type. `seq` is its place in the inbox. */
export const someItem = (state: TaskState, choices: Choices, seq: number): Item => {
  const { type, ...body } = (makers[choices.below(makers.length)] ?? (makers[0] as Make))(state, choices);
  const by = choices.once(4) ? "local:friend" : OWNER;
  return item(type, body as never, { seq, by, key: `key ${String(seq)}`, at: seq });
};

/** One item that ends what the task says it waits for; null where only time or a background job does. */
export const wakingItem = (state: TaskState, seq: number): Item | null => {
  const { on, waits } = state.waiting ?? { on: "input", waits: [] };
  const place = { seq, key: `key ${String(seq)}` };
  // Nobody may resume while an approval is pending.
  const wait = waits.find((each) => each.on === on || (on === "resume" && each.on === "approval"));
  const callId = wait?.callId ?? "";
  switch (wait?.on ?? on) {
    case "resolution":
      return item("Resolve", { callId, outcome: "done", verification: "looked at it" }, place);
    case "resume":
      return item("Resume", {}, place);
    case "approval": {
      const { requestId = "", inputHash = "" } = state.calls.find(({ id }) => id === callId)?.approval ?? {};
      return item("Decide", { requestId, inputHash, showing: 0, decision: "approve" }, place);
    }
    case "answer":
      return item("Answer", { question: callId, text: "42" }, place);
    case "children":
      return item("ChildEnded", { childId: wait?.ref ?? "", callId, outcome: "done" }, place);
    case "signal":
      return wait === undefined ? null : item("Signal", { name: wait.ref ?? "" }, place);
    case "input":
      return item("Say", { text: "next" }, place);
    case "timer":
      return null;
  }
};
