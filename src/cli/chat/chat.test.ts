// What a chat shows and what a typed line means, from logs given; and the screen, on a terminal of the test's own.
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import {
  TASK,
  at,
  call,
  core,
  created,
  finished,
  item,
  logOf,
  recorded,
  replied,
  say,
  started,
  steer,
  taken,
  waiting,
  called,
  type Step,
} from "../../testing/given.ts";
import { reducer } from "../../plugins/plan/saved.ts";
import { intentOf, questionsOf } from "./intent.ts";
import {
  approvalLines,
  blockLines,
  callLines,
  folded,
  planLines,
  questionLines,
  queuedLines,
  statusLine,
  unknownLines,
} from "./lines.ts";
import { showScreen, type Drawn } from "./screen.ts";
import { createTranscript, hear, take, type Transcript } from "./transcript.ts";

const asked = (): Step[] => [created(), taken(say("hi")), called()];

const after = (...steps: readonly Step[]): Transcript => {
  const transcript = createTranscript();
  for (const recorded of logOf(...steps)) take(transcript, TASK, recorded, {});
  return transcript;
};

const shown = ({ blocks }: Transcript): string[] =>
  blocks.map((block) => {
    const { head, lines } = blockLines(block);
    return [head, ...lines].join(" | ");
  });

const question = [
  created(),
  taken(say("book it")),
  called(),
  replied([call("ask", { question: "Which day?" }), call("ask", { question: "Which hotel?" })]),
  started("c4_0", "ask", { effect: "internal", input: { question: "Which day?" } }),
  core("call_parked", { callId: "c4_0", on: "answer" }),
  started("c4_1", "ask", { effect: "internal", input: { question: "Which hotel?" } }),
  core("call_parked", { callId: "c4_1", on: "answer" }),
];

const lost = [
  created(),
  taken(say("pay")),
  called(),
  replied([call("pay", { amount: 5 })]),
  started("c4_0", "pay", { effect: "write" }),
  core("action_unknown", { callId: "c4_0", reason: "crashed" }),
  waiting("resolution"),
];

describe("a transcript", () => {
  test("shows who said what, and each call with its state and time", () => {
    const log = [
      created(),
      taken(say("look at a.txt")),
      called(),
      replied([{ type: "text", text: "I will look." }, call("look", { path: "a.txt" })]),
      at(1_000, started("c4_1", "look", { input: { path: "a.txt" } })),
      at(3_500, finished("c4_1")),
      taken(steer("only the first line")),
    ];
    expect(shown(after(...log))).toEqual([
      "you | look at a.txt",
      "agent | I will look.",
      expect.stringMatching(/^look path=a\.txt {2}done in 2\.5 s/),
      "you | (steers) only the first line",
    ]);
  });

  test("shows the calls that are open, and nothing of them once they are over", () => {
    const log = [created(), taken(say("x")), called(), replied([call("look", { path: "a" }), call("pay")])];
    expect(callLines(after(...log).state, 0)).toEqual(["c4_0 look path=a  waits its turn", "c4_1 pay  waits its turn"]);
    const running = after(...log, at(1_000, started("c4_0", "look", { input: { path: "a" } })));
    expect(callLines(running.state, 13_400)[0]).toBe("c4_0 look path=a  runs 12 s");
    const done = after(...log, started("c4_0", "look"), finished("c4_0"), finished("c4_1"));
    expect(callLines(done.state, 0)).toEqual([]);
  });

  test("keeps the pieces of a reply until it is in the log, or another attempt begins", () => {
    const transcript = after(created(), taken(say("x")), called());
    hear(transcript, { type: "reasoning", delta: "hm" });
    expect(statusLine(transcript, 0)).toBe("thinks");
    hear(transcript, { type: "text", delta: "It " });
    hear(transcript, { type: "text", delta: "is" });
    expect(transcript.saying).toBe("It is");
    const [reply] = logOf(created(), taken(say("x")), called(), replied("It is so.")).slice(-1);
    take(transcript, TASK, reply!, {});
    expect(transcript.saying).toBe("");
    expect(shown(transcript).at(-1)).toBe("agent | It is so.");
  });

  test("tells of failures of the model, not of attempts that were stopped", () => {
    const failure = { purpose: "turn", attempt: 1, durationMs: 1 };
    const log = [
      ...asked(),
      core("model_failed", { ...failure, class: "overloaded", message: "busy", retryAt: 9_000 }),
    ];
    expect(shown(after(...log)).at(-1)).toBe("note | the model failed (overloaded): busy; trying again");
    expect(statusLine(after(...log), 4_000)).toBe("tries again in 5.0 s");
    const stopped = [...asked(), core("model_failed", { ...failure, class: "aborted" })];
    expect(shown(after(...stopped)).at(-1)).toBe("you | hi");
  });

  test("folds long outputs, and shows nothing that a terminal would obey", () => {
    const output = Array.from({ length: 20 }, (_, index) => `line ${String(index)}`).join("\n");
    expect(folded(output).slice(-2)).toEqual(["line 5", "… 14 more lines"]);
    expect(folded("a\u001b[2Jb")).toEqual(["a\ufffd[2Jb"]);
    expect(folded("1\n2\n3\n4\n5\n6\n7")).toHaveLength(7);
  });

  test("shows the plan and the goals as they stand", () => {
    const transcript = createTranscript();
    const steps = [
      { id: "s1", status: "done" },
      { id: "s2", status: "in_progress" },
    ];
    const plan = recorded("plan", "plan", { version: 1, steps, texts: ["look", "book"] });
    const goal = recorded("plan", "goal", { id: "g1", status: "blocked", text: "a room" });
    for (const event of logOf(...asked(), plan, goal)) take(transcript, TASK, event, { plan: reducer });
    expect(planLines(transcript.state)).toEqual(["plan [x] look", "plan [>] book", "goal [!] a room"]);
    expect(planLines(after(...asked()).state)).toEqual([]);
  });

  test("asks the person what is asked of them", () => {
    const { state } = after(...question);
    expect(questionLines(state)).toEqual([
      "c4_0 asks: Which day?",
      "c4_1 asks: Which hotel?",
      "What you type answers the first; /answer ID TEXT another.",
    ]);
    expect(unknownLines(after(...lost).state)[0]).toContain("/resolve c4_0 done|absent");
  });
});

describe("a typed line", () => {
  const { state } = after(...question);

  test("begins the task, answers the question that is asked, goes on with what is paused, or is said", () => {
    expect(intentOf(" book it ", undefined)).toEqual({ do: "create", text: "book it" });
    expect(intentOf("Monday", state)).toMatchObject({ item: { type: "Answer", question: "c4_0", text: "Monday" } });
    const one = after(...question, taken(item("Answer", { question: "c4_0", text: "Monday" })));
    expect(questionsOf(one.state).map(({ id }) => id)).toEqual(["c4_1"]);
    expect(intentOf("Ritz", one.state)).toMatchObject({ item: { type: "Answer", question: "c4_1" } });
    const paused = after(...asked(), waiting("resume", { outcome: "paused" }));
    expect(intentOf("go on", paused.state)).toMatchObject({ item: { type: "Resume", text: "go on" } });
    expect(intentOf("and then?", after(...asked()).state)).toMatchObject({ item: { type: "Say", text: "and then?" } });
    expect(intentOf("   ", state)).toBeNull();
    const choices = ["Monday", "Tuesday"];
    const picks = after(
      ...[created(), taken(say("x")), called(), replied([call("ask", { question: "Which day?", choices })])],
      ...[started("c4_0", "ask", { effect: "internal", input: { question: "Which day?", choices } })],
      core("call_parked", { callId: "c4_0", on: "answer" }),
    );
    expect(questionLines(picks.state)).toEqual(["c4_0 asks: Which day?", "  1. Monday", "  2. Tuesday"]);
    expect(intentOf("2", picks.state)).toMatchObject({ item: { type: "Answer", text: "Tuesday" } });
    expect(intentOf("3", picks.state)).toMatchObject({ item: { type: "Answer", text: "3" } });
  });

  test.each([
    ["/steer no, b.txt", { type: "Steer", text: "no, b.txt" }],
    ["/interrupt", { type: "Interrupt" }],
    ["/cancel", { type: "Cancel" }],
    ["/close", { type: "Close" }],
    ["/resume", { type: "Resume" }],
    ["/verify c4_0", { type: "Verify", callId: "c4_0" }],
    ["/answer c4_1 the Ritz", { type: "Answer", question: "c4_1", text: "the Ritz" }],
    [
      "/resolve c4_0 absent no such payment",
      { type: "Resolve", callId: "c4_0", outcome: "absent", verification: "no such payment" },
    ],
  ])("%s posts what it says", (line, posted) => {
    expect(intentOf(line, state)).toEqual({ do: "post", item: posted });
  });

  test.each(["/steer", "/resolve c4_0 maybe", "/resolve c4_0 done", "/answer c4_0", "/verify", "/dance"])(
    "%s is explained and posts nothing",
    (line) => {
      expect(intentOf(line, state)).toMatchObject({ do: "tell" });
      expect(intentOf("/interrupt", undefined)).toMatchObject({ do: "tell" });
      expect(intentOf("/quit", undefined)).toEqual({ do: "leave" });
    },
  );
});

const request = { callId: "c4_0", inputHash: "h", definition: "d", decides: "local:root" };
const asksToDrop = [
  created(),
  taken(say("drop it")),
  called(),
  replied([call("drop", { name: "a" }), call("drop", { name: "b" })]),
  core("approval_requested", {
    requestId: "ask_c4_0",
    ...request,
    input: { name: "A" },
    items: ["A"],
    reason: "Final.",
  }),
  core("approval_requested", { requestId: "ask_c4_1", ...request, callId: "c4_1", expiresAt: 60_000 }),
  waiting("approval"),
];

describe("a request for a decision", () => {
  const { state } = after(...asksToDrop);
  const first = { do: "decide", request: "ask_c4_0" } as const;

  test("is shown exactly as it would run, with how to decide", () => {
    expect(approvalLines(after(...asksToDrop))).toEqual([
      'ask_c4_0: may drop run with {"name":"A"}',
      "  - A",
      "  Final.",
      "  1. yes   2. no   3. with another input: 3 JSON",
      'ask_c4_1: may drop run with {"name":"b"}',
      "  expires 1970-01-01T00:01:00.000Z",
      "  1. yes   2. no   3. with another input: 3 JSON",
      "What you type decides on the first; /approve ID and /deny ID on another.",
    ]);
    expect(callLines(state, 0)).toEqual([]);
  });

  test.each(["y", "Yes", "1", "approve", "/approve", "/approve c4_0", "/approve ask_c4_0"])("%s approves", (line) => {
    expect(intentOf(line, state)).toEqual({ ...first, decision: "approve" });
  });

  test.each([
    ["n", undefined],
    ["no", undefined],
    ["2", undefined],
    ["no, not that one", "not that one"],
    ["/deny", undefined],
    ["/deny it is still needed", "it is still needed"],
  ])("%s denies", (line, reason) => {
    const told = reason === undefined ? {} : { reason };
    expect(intentOf(line, state)).toEqual({ ...first, decision: "deny", ...told });
  });

  test("may be corrected, and another one named", () => {
    const corrected = { ...first, decision: "approve", input: { name: "c" } };
    for (const line of [
      '3 {"name":"c"}',
      'correct {"name":"c"}',
      '/approve {"name":"c"}',
      '/approve c4_0 {"name":"c"}',
    ]) {
      expect(intentOf(line, state)).toEqual(corrected);
    }
    expect(intentOf("/deny ask_c4_1 no", state)).toEqual({
      ...{ do: "decide", request: "ask_c4_1", decision: "deny", reason: "no" },
    });
    for (const line of ["3", "3 {name", "/approve {"]) expect(intentOf(line, state)).toMatchObject({ do: "tell" });
  });

  test("is not decided by other words, nor by any where nothing waits", () => {
    for (const line of ["nope", "yesterday it was there", "note it", "11"]) {
      expect(intentOf(line, state)).toMatchObject({ do: "post", item: { type: "Say", text: line } });
    }
    expect(intentOf("y", after(...asked()).state)).toMatchObject({ item: { type: "Say" } });
    expect(intentOf("/approve", after(...asked()).state)).toMatchObject({ do: "tell" });
  });

  test("is not decided by what was typed about another, or about none", () => {
    for (const line of ["y", "n", '3 {"name":"c"}', "/approve", "/deny no"]) {
      expect(intentOf(line, state, "ask_c4_0")).toMatchObject(first);
      expect(intentOf(line, state, null)).toMatchObject({
        do: "tell",
        text: expect.stringMatching(/^nothing was decided: nothing waited/) as string,
      });
      const gone = {
        do: "tell",
        text: expect.stringMatching(/^nothing was decided: ask_c3_0 waits no more, ask_c4_0 does/) as string,
      };
      expect(intentOf(line, state, "ask_c3_0")).toMatchObject(gone);
      const late = {
        do: "tell",
        text: expect.stringMatching(/^nothing was decided: ask_c4_0 waits no more, nothing does now$/) as string,
      };
      expect(intentOf(line, after(...asked()).state, "ask_c4_0")).toMatchObject(late);
    }
    expect(intentOf("/approve c4_1", state, "ask_c3_0")).toMatchObject({ do: "decide", request: "ask_c4_1" });
    expect(intentOf("what is it?", state, "ask_c3_0")).toMatchObject({ item: { type: "Say" } });
  });

  test("is not denied by the name of a call that asks nothing", () => {
    expect(intentOf("/deny c9_9", state)).toEqual({ do: "decide", request: "c9_9", decision: "deny" });
    expect(intentOf("/approve f2c9_9", state)).toEqual({ do: "decide", request: "f2c9_9", decision: "approve" });
  });

  test("holds up what is said meanwhile, which is shown as queued until it joins", () => {
    const waits = after(...asksToDrop, taken(say("by the way")));
    expect(queuedLines(waits)).toEqual(["queued until then: by the way"]);
    const skipped = ["c4_0", "c4_1"].map((id) => finished(id, "no", { status: "denied" }));
    expect(queuedLines(after(...asksToDrop, taken(say("by the way")), ...skipped))).toEqual([]);
  });

  test("is told of once it is decided", () => {
    const settled = { requestId: "ask_c4_0", callId: "c4_0", by: "local:root" };
    const told = (record: Partial<Parameters<typeof core<"approval_settled">>[1]>) =>
      shown(after(...asksToDrop, core("approval_settled", { ...settled, decision: "approved", ...record }))).at(-1);
    expect(told({})).toBe("note | ask_c4_0 is approved by local:root");
    expect(told({ input: { name: "c" } })).toBe('note | ask_c4_0 is approved by local:root, as {"name":"c"}');
    expect(told({ auto: true })).toBe("note | ask_c4_0 is approved by auto-approve");
    expect(told({ decision: "expired", by: "core" })).toBe("note | nobody decided on ask_c4_0 in time");
    expect(told({ decision: "void", reason: "it does not fit" })).toContain("has to be asked again: it does not fit");
    expect(told({ decision: "cancelled", by: "core" })).toBe("note | ask_c4_0 is called off");
  });
});

/** A terminal of 80 columns that remembers what it was last drawn. */
const createTerminal = () => {
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => stdin,
    ref: () => stdin,
    unref: () => stdin,
  });
  let text = "";
  const waiting = new Set<() => void>();
  stdout.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
    for (const look of waiting) look();
  });
  const until = (words: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!text.includes(words)) return;
        waiting.delete(look);
        text = text.slice(text.indexOf(words) + words.length);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return {
    streams: {
      stdin: stdin as never,
      stdout: stdout as typeof stdout & NodeJS.WriteStream,
      interactive: true,
      patchConsole: false,
    },
    until,
    type: (keys: string) => stdin.write(keys),
  };
};

/** A conversation whose doings are written down. */
const createDrawn = (transcript: Transcript, isBusy: boolean) => {
  const did: string[] = [];
  let next = Promise.withResolvers<string>();
  const left = new AbortController();
  let changed = (): void => undefined;
  const drawn: Drawn = {
    transcript,
    isBusy,
    left: left.signal,
    subscribe: (listener) => {
      changed = listener;
      return () => undefined;
    },
    enter: (line, seen) => {
      next.resolve(seen == null ? line : `${line} (of ${seen})`);
      return Promise.resolve();
    },
    interrupt: () => Promise.resolve(void did.push("interrupt")),
    leave: () => left.abort(),
  };
  const entered = async (): Promise<string> => {
    const line = await next.promise;
    next = Promise.withResolvers();
    return line;
  };
  return { drawn, did, entered, change: () => changed() };
};

describe("the screen", () => {
  test("draws what is over once, what goes on below it, and sends a line", async () => {
    const { streams, until, type } = createTerminal();
    const { drawn, entered, change } = createDrawn(after(...asked()), true);
    const over = showScreen(drawn, { colours: false, hint: "the hint" }, streams);
    await until("you");
    await until("hi");
    await until("asks m");
    await until("the hint");
    hear(drawn.transcript, { type: "text", delta: "It is" });
    change();
    await until("It is");
    type("more");
    await until("more");
    type("\r");
    expect(await entered()).toBe("more");
    type("pasted whole\r");
    expect(await entered()).toBe("pasted whole\n");
    drawn.leave();
    await over;
  });

  test("a decision is on the request that stood first when it was begun", async () => {
    const { streams, until, type } = createTerminal();
    const { drawn, entered, change } = createDrawn(after(...asksToDrop), true);
    const over = showScreen(drawn, { colours: false, hint: "the hint" }, streams);
    await until('? ask_c4_1: may drop run with {"name":"b"}');
    await until("the hint");
    type("y");
    await until("> y");
    drawn.transcript.state?.calls.shift();
    change();
    await until("? ask_c4_1");
    type("\r");
    expect(await entered()).toBe("y (of ask_c4_0)");
    drawn.leave();
    await over;
  });

  test("requests that do not fit stand above, whole and once; what is drawn again fits", async () => {
    const { streams, until, type } = createTerminal();
    const items = Array.from({ length: 40 }, (_, index) => `file ${String(index)}`);
    const many = asksToDrop
      .slice(0, 4)
      .concat([
        core("approval_requested", { requestId: "ask_c4_0", ...request, items }),
        core("approval_requested", { requestId: "ask_c4_1", ...request, callId: "c4_1" }),
        waiting("approval"),
      ]);
    let drawnText = "";
    streams.stdout.on("data", (piece: string) => (drawnText += piece));
    const { drawn, entered } = createDrawn(after(...many), false);
    const over = showScreen(drawn, { colours: false, hint: "the hint" }, streams);
    await until("asks");
    await until('ask_c4_0: may drop run with {"name":"a"}');
    await until("- file 39");
    await until("? ask_c4_0: drop, as it stands above");
    await until("? ask_c4_1: drop, as it stands above");
    await until("1. yes   2. no");
    await until("the hint");
    type("y");
    await until("> y");
    type("\r");
    expect(await entered()).toBe("y (of ask_c4_0)");
    drawn.leave();
    await over;
    expect(drawnText.split("- file 39")).toHaveLength(2);
  });

  test("interrupts at the first Ctrl-C and leaves at the second", async () => {
    const { streams, until, type } = createTerminal();
    const { drawn, did } = createDrawn(after(...asked()), true);
    const over = showScreen(drawn, { colours: false, hint: "the hint" }, streams);
    await until("the hint");
    type("\u0003");
    await until("interrupting; Ctrl-C once more leaves");
    expect(did).toEqual(["interrupt"]);
    type("\u0003");
    await over;
    expect(drawn.left.aborted).toBe(true);
  });
});
