import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyEvent } from "../testing/arbitraries.ts";
import {
  call,
  called,
  compacted,
  core,
  created,
  ended,
  finished,
  item,
  logOf,
  recorded,
  replied,
  say,
  started,
  steer,
  taken,
  toolsKnown,
  waiting,
} from "../testing/given.ts";
import type { Event } from "./events.ts";
import { text } from "./messages.ts";
import { printEvent, printLog } from "./print.ts";
import { skeletonOf } from "./redact.ts";

const lineOf = (event: Event): string => printLog(logOf(created(), event)).split("\n")[1]?.slice(22) ?? "";

test("a log is one line per event", () => {
  const log = logOf(
    created({ objective: "what is in a.txt?" }),
    core("prompts", { identity: "", system: "", parts: [] }),
    toolsKnown(),
    taken(say("what is in a.txt?")),
    called({ requestHash: "372920a9e1b2" }),
    replied([call("Read", { file_path: "a.txt" })]),
    started("c6_0", "Read", { input: { file_path: "a.txt" } }),
    recorded("fs", "read", { path: "a.txt", digest: "d1" }),
    finished("c6_0", "1\thello world"),
    called({ requestHash: "223cf056e1b2" }),
    replied("It says hello world."),
    waiting("input", { outcome: "completed", detail: { answer: "It says hello world." } }),
  );
  expect(printLog(log).split("\n")).toEqual([
    " 1 TaskCreated        agent=demo  mode=conversation  owner=local:root",
    ' 2 ExtensionRecorded  core/prompts   {identity: "", system: "", parts: []}',
    " 3 ExtensionRecorded  core/plugins   {pins: [], tools: []}",
    ' 4 InputTaken         items=[Say "what is in a.txt?"]  through=1',
    " 5 ModelCalled        model=m  request_hash=372920a9…",
    " 6 ModelReplied       tool_use Read {file_path: a.txt}   stop_reason=tool_use",
    " 7 ToolStarted        c6_0 Read {file_path: a.txt}",
    " 8 ExtensionRecorded  fs/read        {path: a.txt, digest: d1}",
    ' 9 ToolFinished       c6_0 "1\\thello world"',
    "10 ModelCalled        model=m  request_hash=223cf056…",
    '11 ModelReplied       "It says hello world."   stop_reason=end_turn',
    '12 Waiting            on=input  outcome=completed  detail={answer: "It says hello world."}',
  ]);
});

describe("a line says", () => {
  const lines: readonly [Event, string][] = [
    [
      taken(say("hi"), steer("no"), item("Interrupt", {}), item("Resume", {}), item("Resume", { text: "go" })),
      'items=[Say "hi", Steer "no", Interrupt, Resume, Resume "go"]  through=5',
    ],
    [
      taken(item("Resolve", { callId: "c4_0", outcome: "done", verification: "I looked" })),
      'items=[Resolve {callId: c4_0, outcome: done, verification: "I looked"}]  through=1',
    ],
    [
      taken(item("Say", { text: "see", files: [{ type: "file", name: "a.png", mediaType: "image/png", size: 1 }] })),
      "items=[Say {text: see, files: [{type: file, name: a.png, mediaType: image/png, size: 1}]}]  through=1",
    ],
    [called({ requestHash: "abc", attempt: 2 }), "model=m  request_hash=abc  attempt=2"],
    [
      replied([{ type: "reasoning", text: "hm" }, text("Let me look."), call("Read"), call("Grep", { n: 1 })]),
      'tool_use reasoning "hm"  "Let me look."  Read {}  Grep {n: 1}   stop_reason=tool_use',
    ],
    [started("c4_0", "send", { input: null, attempt: 2 }), "c4_0 send null  attempt=2"],
    [finished("c4_0", "no", { status: "denied" }), 'c4_0 denied "no"'],
    [finished("c4_0", "ok", { settledBy: "attestation" }), 'c4_0 "ok"  settled_by=attestation'],
    [
      finished("c4_0", [{ type: "file", name: "out/a b.txt", mediaType: "text/plain", size: 2 }]),
      'c4_0 file "out/a b.txt" (text/plain)',
    ],
    [finished("c4_0", []), 'c4_0 ""'],
    [compacted(9, "so far"), 'through=9  summary="so far"'],
    [waiting("input"), "on=input"],
    [
      waiting("approval", { reason: "r", detail: { waits: [{ on: "approval", callId: "c4_0", ref: "q" }] } }),
      "on=approval  reason=r  detail={waits: [{on: approval, callId: c4_0, ref: q}]}",
    ],
    [ended(), "outcome=done"],
    [
      ended({ outcome: "failed", reason: "unreadable_log", answer: "a b" }),
      'outcome=failed  answer="a b"  reason=unreadable_log',
    ],
    [core("interrupted", { reason: "crashed" }), "core/interrupted {reason: crashed}"],
    [recorded("notes", "kept", { n: 1 }, { words: "Mind it." }), 'notes/kept     {n: 1}  message="Mind it."'],
    [skeletonOf(finished("c4_0", "secret")), '[redacted] c4_0 ""'],
    [
      skeletonOf(taken(say("secret"), item("Close", {}))),
      "[redacted] items=[Say [redacted], Close [redacted]]  through=2",
    ],
  ];
  for (const [event, line] of lines) {
    test(line.slice(0, 60), () => {
      expect(lineOf(event)).toBe(line);
    });
  }
});

describe("texts", () => {
  test("are quoted unless they are one plain word", () => {
    const of = (value: unknown): string => lineOf(started("c1_0", "x", { input: value })).slice("c1_0 x ".length);
    expect(of("a.txt")).toBe("a.txt");
    expect(of(["two words", "", "7", "-x", "ü", "a\nb", true, null, 1.5])).toBe(
      '["two words", "", "7", "-x", "ü", "a\\nb", true, null, 1.5]',
    );
    expect(of({ "a b": 1, __x: 2 })).toBe('{"a b": 1, __x: 2}');
    expect(of({ a: { b: { c: { d: { e: 1 } } } } })).toBe("{a: {b: {c: {d: …}}}}");
    expect(of([[[[[1]]]]])).toBe("[[[[…]]]]");
    const file = { type: "file", name: "f.txt", mediaType: "text/plain", size: 1 } as const;
    expect(lineOf(finished("c1_0", [text("two words"), file]))).toBe('c1_0 "two words" file f.txt (text/plain)');
    expect(lineOf(finished("c1_0", [file]))).toBe("c1_0 file f.txt (text/plain)");
  });

  test("that are long are cut, between code points, and their length is told", () => {
    const line = lineOf(finished("c1_0", "😀".repeat(200)));
    expect(line).toMatch(/^c1_0 "(😀)+…\(401 chars\)"$/u);
    expect(line.length).toBeLessThan(130);
    expect(lineOf(finished("c1_0", "a".repeat(100)))).toBe(`c1_0 "${"a".repeat(100)}"`);
  });
});

test("a line stays one line, and a terminal finds nothing in it to obey, whatever the event holds", () => {
  const evil = "a\n\r\u001b[31m\u0085\u009b\u2028\u2029\u007fb";
  const events: Event[] = [
    created({ agent: evil, owner: evil }),
    taken({ ...say(evil), by: evil, key: evil }, item("Signal", { name: evil, data: { [evil]: evil } })),
    called({ model: evil, requestHash: "h" }),
    replied([text(evil), call(evil, evil), { type: "reasoning", text: evil }]),
    started("c1_0", evil, { input: evil }),
    finished("c1_0", [text(evil), { type: "file", name: evil, mediaType: evil, size: 1 }]),
    compacted(1, evil),
    waiting("input", { reason: evil, detail: { answer: evil } }),
    ended({ answer: evil, reason: evil }),
    recorded("x", "y", evil, { words: evil }),
    core("turn_failed", { reason: evil, message: evil }),
    { ...finished(evil), callId: evil } as Event,
    recorded(evil, evil),
  ];
  expect(printEvent({ seq: 1, event: finished("c1_0", "a\u0085b") })).toContain("a\\u0085b");
  const bad = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
  for (const event of events) expect(printEvent({ seq: 1, event })).not.toMatch(bad);
});

test("any event can be printed", () => {
  fc.assert(
    fc.property(anyEvent, (event) => {
      expect(printEvent({ seq: 1, event }).split("\n")).toHaveLength(1);
      expect(printEvent({ seq: 1, event: skeletonOf(event) })).toContain("[redacted]");
    }),
    { numRuns: 500 },
  );
});

test("the seq column is as wide as the last seq", () => {
  expect(printLog([])).toBe("");
  const event = core("interrupted", { reason: "stopped" });
  const lines = printLog([
    { seq: 7, event },
    { seq: 8, event },
    { seq: 1234, event },
  ]).split("\n");
  expect(lines.map((line) => line.slice(0, 5))).toEqual(["   7 ", "   8 ", "1234 "]);
  expect(printEvent({ seq: 7, event })).toMatch(/^ 7 ExtensionRecorded {2}core\/interrupted/);
});
