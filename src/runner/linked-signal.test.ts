// A linked signal follows its sources, and leaves nothing on them.
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { linkSignals } from "./linked-signal.ts";

const [first, second] = [new Error("first"), new Error("second")];

test("is aborted with the first of its sources, for that one's reason", () => {
  const [a, b] = [new AbortController(), new AbortController()];
  const { signal } = linkSignals(a.signal, b.signal);
  expect(signal.aborted).toBe(false);
  b.abort(second);
  a.abort(first);
  expect(signal.reason).toBe(second);
});

test("is aborted from the start where a source is", () => {
  const { signal } = linkSignals(new AbortController().signal, AbortSignal.abort(first));
  expect(signal.reason).toBe(first);
});

test("is aborted alone, without its sources", () => {
  const source = new AbortController();
  const linked = linkSignals(source.signal);
  linked.abort(first);
  expect([linked.signal.reason, source.signal.aborted]).toEqual([first, false]);
});

test("follows no more once it is released, and leaves no listener behind", () => {
  const source = new AbortController();
  const linked = linkSignals(source.signal);
  expect(getEventListeners(source.signal, "abort")).toHaveLength(1);
  linked.release();
  expect(getEventListeners(source.signal, "abort")).toEqual([]);
  source.abort(first);
  expect(linked.signal.aborted).toBe(false);
});
