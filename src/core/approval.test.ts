// Who has to be asked, and what waits for an answer.
import { expect, test } from "vitest";
import { call, called, core, given, replied, say, taken, OWNER } from "../testing/given.ts";
import { inputHashOf, isPending, strictest } from "./approval.ts";
import { voidApprovals } from "./apply-input.ts";
import type { Call } from "./state.ts";

const approval = { requestId: "q", inputHash: "h", definition: "d", decides: OWNER, approved: false };
const callWith = (more: Partial<Call>): Call => ({
  ...{ id: "c4_0", name: "send", input: {}, phase: "waiting", attempt: 0 },
  ...more,
});

test("the strictest of several verdicts counts; no verdict asks for nothing", () => {
  expect(strictest([])).toBe("allow");
  expect(strictest([undefined, "allow"])).toBe("allow");
  expect(strictest(["allow", "ask", undefined])).toBe("ask");
  expect(strictest(["deny", "ask", "allow"])).toBe("deny");
});

test("a call waits for a decision while it is parked on its newest request", () => {
  expect(isPending(callWith({ phase: "parked", parked: { on: "approval", ref: "q" }, approval }))).toBe(true);
  expect(isPending(callWith({ phase: "waiting", approval }))).toBe(false);
  expect(isPending(callWith({ phase: "started", approval: { ...approval, approved: true } }))).toBe(false);
  expect(isPending(callWith({ phase: "parked", parked: { on: "signal", ref: "q" }, approval }))).toBe(false);
  expect(isPending(callWith({ phase: "parked", parked: { on: "approval", ref: "q" } }))).toBe(false);
});

test("what has begun keeps its approval when the others are void", () => {
  const asks = core("approval_requested", { ...approval, callId: "c4_0" });
  given(taken(say("hi")), called(), replied([call("send"), call("send")]), asks).then((state) => {
    const [first, second] = state.calls as [Call, Call];
    state.calls = [
      { ...first, phase: "started", approval },
      { ...second, phase: "waiting", approval },
    ];
    voidApprovals(state);
    expect(state.calls.map((each) => each.approval)).toEqual([approval, undefined]);
  });
});

test("an input that is nothing has a hash of its own", () => {
  const shown = (text: string): string => text;
  expect(inputHashOf(shown, undefined)).toBe("input\nnull");
  expect(inputHashOf(shown, { a: 1 })).toBe('input\n{"a":1}');
});
