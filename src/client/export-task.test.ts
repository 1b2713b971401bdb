// The owner's export: everything that the log has of a task, with gaps where it was redacted.
import { expect, onTestFinished, test } from "vitest";
import type { Event } from "../core/events.ts";
import { createMemoryStore } from "../store/memory/store.ts";
import type { Store } from "../store/store.ts";
import {
  call,
  called,
  core,
  created,
  finished,
  recorded,
  replied,
  say,
  started,
  steer,
  taken,
  waiting,
} from "../testing/given.ts";
import { clientOf, keepTask } from "../testing/kept-task.ts";
import { exportPage } from "./export-page.ts";
import { exportTask } from "./export-task.ts";

const openStore = (): Store => {
  const store = createMemoryStore();
  onTestFinished(() => store.close());
  return store;
};

const usage = (input: number | null, priceEstimate?: number) => ({
  usage: {
    tokens: input === null ? ("unknown" as const) : { input, output: 1 },
    durationMs: 5,
    ...(priceEstimate === undefined ? {} : { priceEstimate }),
  },
});

const asked = { requestId: "q1", callId: "c6_0", inputHash: "h", definition: "d", decides: "local:root" };
const decided = { requestId: "q1", callId: "c6_0", decision: "approved", by: "local:root" } as const;

/** Everything that an export has a part for. */
const whole: readonly Event[] = [
  created({ objective: "tell ada", root: "task" }),
  taken(say("tell ada"), steer("but kindly", "local:bob")),
  recorded(
    "plan",
    "plan",
    { version: 2, steps: [{ id: "s1", status: "open" }], texts: ["write"] },
    { skeleton: ["version"] },
  ),
  recorded("plan", "note", { id: "n1", text: "ada is ```shy```" }, { skeleton: ["id"] }),
  called(),
  replied([call("Send", { to: "ada" }), call("Mail", { to: "bob" }), call("Look", { at: "page" })], usage(10, 0.5)),
  core("approval_requested", { ...asked, input: { to: "ada" }, expiresAt: 99_000 }),
  core("approval_settled", { ...decided, input: { to: "ada", kindly: true }, reason: "kinder" }),
  started("c6_0", "Send", { effect: "write", input: { to: "ada", kindly: true } }),
  finished("c6_0", "sent", { resources: ["mail:1"] }),
  started("c6_1", "Mail", { effect: "destructive", input: { to: "bob" } }),
  core("action_unknown", { callId: "c6_1", reason: "crashed", message: "it hung up" }),
  core("action_settled", { callId: "c6_1", how: "verification", outcome: "unknown", by: "core" }),
  core("action_settled", {
    ...{ callId: "c6_1", how: "attestation", outcome: "absent", by: "local:root" },
    verification: "no mail came",
  }),
  finished("c6_1", "not done", { status: "error", settledBy: "attestation" }),
  started("c6_2", "Look", { input: { at: "page" } }),
  finished("c6_2", "the page says hi", { sources: [{ id: "page", version: "3", cursor: "c9" }], details: { n: 1 } }),
  core("collaborator", { principal: "local:bob", change: "add", by: "local:root" }),
  core("usage", { purpose: "title", model: "small", tokens: "unknown", durationMs: 2 }),
  called(),
  replied("Told her.", usage(20)),
  waiting("input", { outcome: "completed", detail: { answer: "Told her." } }),
];

test("an export has the task's words, plan, actions, approvals, collaborators, usage and files, and where they stand", async () => {
  const store = openStore();
  await keepTask(store, whole);
  await store.putFile({ taskId: "task", name: "out/a.txt", mediaType: "text/plain", bytes: Uint8Array.of(1, 2) });
  const { task } = await exportTask(clientOf(store), "task");
  expect(task).toMatchObject({
    format: "perdure-export/1",
    taskId: "task",
    objective: "tell ada",
    owner: "local:root",
    origin: { frontEnd: "cli", place: "here", private: true },
    createdAt: 1_000,
    status: "waiting",
    outcome: "completed",
    answer: "Told her.",
    outcomes: [{ seq: 22, outcome: "completed", answer: "Told her." }],
    words: [
      { seq: 2, as: "Say", by: "local:root", text: "tell ada" },
      { seq: 2, as: "Steer", by: "local:bob", text: "but kindly" },
    ],
    saved: {
      plan: { version: 2, steps: [{ id: "s1", text: "write" }] },
      notes: [{ id: "n1", text: "ada is ```shy```" }],
    },
    collaborators: ["local:bob"],
    collaboration: [{ seq: 18, principal: "local:bob", change: "add", by: "local:root" }],
    files: [{ name: "out/a.txt", mediaType: "text/plain", size: 2 }],
    gaps: [],
  });
});

test("an action is exported with its arguments as they ran, its result, and what became of it while it was unknown", async () => {
  const store = openStore();
  await keepTask(store, whole);
  const { actions, approvals } = (await exportTask(clientOf(store), "task")).task;
  expect(actions).toEqual([
    {
      ...{ action: "c6_0", name: "Send", effect: "write", status: "ok", invocationId: "invocation of c6_0" },
      input: { to: "ada", kindly: true },
      attempts: [{ seq: 9, at: 9_000 }],
      ...{ unknown: null, settled: [] },
      finished: {
        ...{ seq: 10, at: 10_000, status: "ok", output: [{ type: "text", text: "sent" }], details: null },
        ...{ resources: ["mail:1"], settledBy: null },
      },
    },
    expect.objectContaining({
      ...{ action: "c6_1", effect: "destructive", status: "error", input: { to: "bob" } },
      unknown: { seq: 12, at: 12_000, reason: "crashed", message: "it hung up" },
      settled: [
        { seq: 13, at: 13_000, how: "verification", outcome: "unknown", by: "core", verification: null },
        ...[
          {
            seq: 14,
            at: 14_000,
            how: "attestation",
            outcome: "absent",
            by: "local:root",
            verification: "no mail came",
          },
        ],
      ],
      finished: expect.objectContaining({ status: "error", settledBy: "attestation" }),
    }),
  ]);
  expect(approvals).toEqual([
    {
      ...{ seq: 7, at: 7_000, request: "q1", action: "c6_0", name: "Send", input: { to: "ada" }, items: [] },
      ...{
        askedBecause: null,
        inputHash: "h",
        definition: "d",
        decides: "local:root",
        expiresAt: 99_000,
        voided: null,
      },
      decision: {
        ...{ seq: 8, at: 8_000, decision: "approved", by: "local:root", auto: false, reason: "kinder" },
        input: { to: "ada", kindly: true },
      },
    },
  ]);
});

test("an approval that a resume voided keeps who decided it, and says that it was not used", async () => {
  const store = openStore();
  const voided = core("approval_settled", { requestId: "q1", callId: "c6_0", decision: "void", by: "core" });
  await keepTask(store, [...whole.slice(0, 8), voided, waiting("resume", { outcome: "paused" })]);
  const { task } = await exportTask(clientOf(store), "task");
  expect(task.approvals).toMatchObject([{ voided: { seq: 9 }, decision: { seq: 8, decision: "approved" } }]);
  expect(exportPage(task, 0)).toContain("void, seq 9");
});

const unchanged: readonly Event[] = [
  ...whole.slice(0, 6),
  core("approval_requested", { ...asked, items: ["a mail to ada"], reason: "it is a mail" }),
  core("approval_settled", { ...decided, auto: true }),
  waiting("input", { outcome: "completed" }),
];

test("an approval of what the model asked for is exported with the reply's arguments, which the request does not repeat", async () => {
  const store = openStore();
  await keepTask(store, unchanged);
  const { task } = await exportTask(clientOf(store), "task");
  expect(task.approvals).toMatchObject([
    {
      ...{ name: "Send", input: { to: "ada" }, items: ["a mail to ada"], askedBecause: "it is a mail" },
      decision: { decision: "approved", auto: true, input: null, reason: null },
    },
  ]);
  const page = exportPage(task, 0);
  const approval = page.slice(page.indexOf("## Approvals"), page.indexOf("## Usage"));
  expect(approval).toContain('"to": "ada"');
  expect(approval).toContain("- a mail to ada");
  expect(approval).toContain("- because: it is a mail");
  expect(approval).toContain("approved by local:root (auto-approve was on: nobody was asked)");
  expect(approval).not.toContain("redacted");
});

test.each([6, 7])("of an approval whose event %i was redacted nothing is exported that it asked about", async (seq) => {
  const store = openStore();
  await keepTask(store, unchanged);
  await store.redact({ taskId: "task", seqs: [seq], secret: new Uint8Array(32) });
  const { task } = await exportTask(clientOf(store), "task");
  expect(task.approvals[0]).toMatchObject({ name: "Send", input: null, decision: { decision: "approved" } });
});

test("an action that nobody knows the outcome of is exported as unknown, with no result", async () => {
  const store = openStore();
  await keepTask(store, [...whole.slice(0, 12), waiting("resolution", { outcome: "paused" })]);
  const { task } = await exportTask(clientOf(store), "task");
  expect(task.actions[1]).toMatchObject({ status: "unknown", unknown: { reason: "crashed" }, finished: null });
  const page = exportPage(task, 0);
  expect(page).toContain("### c6_1 Mail (destructive): unknown");
  expect(page).toContain("No result.");
});

test("results with sources are evidence of their own, and where there are none there is no evidence", async () => {
  const store = openStore();
  await keepTask(store, whole);
  const { evidence } = await exportTask(clientOf(store), "task");
  expect(evidence).toMatchObject({ format: "perdure-evidence/1", taskId: "task" });
  expect(evidence?.results).toEqual([
    {
      ...{ seq: 17, at: 17_000, callId: "c6_2", name: "Look", status: "ok", input: { at: "page" } },
      sources: [{ id: "page", version: "3", cursor: "c9" }],
      output: [{ type: "text", text: "the page says hi" }],
      details: { n: 1 },
    },
  ]);
  await keepTask(store, whole.slice(0, 6), { taskId: "bare" });
  expect((await exportTask(clientOf(store), "bare")).evidence).toBeNull();
});

test("usage is by purpose and model; what was not reported is unknown, never zero", async () => {
  const store = openStore();
  await keepTask(store, whole);
  const { task } = await exportTask(clientOf(store), "task");
  expect(task.usage.by).toMatchObject([
    {
      purpose: "title",
      model: "small",
      usage: { calls: 1, unknown: 1, input: null, output: null, priceEstimate: null },
    },
    { purpose: "turn", model: "m", usage: { calls: 2, unknown: 0, input: 30, priceEstimate: 0.5 } },
  ]);
  expect(exportPage(task, 0)).toContain(
    "| task | title | small | 1 | 0 | unknown | unknown | unknown | 1 | 2 ms | unknown |",
  );
});

test("what was redacted is a gap: in the export, its evidence and its page", async () => {
  const store = openStore();
  await keepTask(store, whole);
  const seqs = [2, 3, 4, 7, 8, 9, 10, 12, 14, 16, 17, 22];
  await store.redact({ taskId: "task", seqs, secret: new Uint8Array(32) });
  const { task, evidence } = await exportTask(clientOf(store), "task");
  expect(task.gaps).toEqual(seqs);
  expect(task.words.map(({ by, text }) => ({ by, text }))).toEqual([
    { by: "local:root", text: null },
    { by: "local:bob", text: null },
  ]);
  expect(task.saved).toMatchObject({ plan: { steps: [] }, notes: [{ id: "n1", text: null }] });
  expect(task.actions[0]).toMatchObject({ name: "Send", status: "ok", input: null });
  expect(task.actions[0]?.finished).toMatchObject({ status: "ok", output: null, details: null, resources: null });
  expect(task.actions[1]).toMatchObject({ unknown: { reason: "crashed", message: null } });
  expect(task.actions[1]?.settled[1]).toMatchObject({ by: "local:root", verification: null });
  expect(task.approvals[0]).toMatchObject({ input: null, decision: { by: "local:root", input: null, reason: null } });
  expect(task.outcomes).toMatchObject([{ outcome: "completed", answer: null }]);
  expect(task.answer).toBeNull();
  expect(evidence?.results).toMatchObject([{ input: null, output: null, details: null, sources: [{ id: "page" }] }]);
  const page = exportPage(task, 1);
  expect(page).toContain(`redacted: events ${seqs.join(", ")}`);
  expect(page).toContain("Say by local:root, seq 2, 1970-01-01T00:00:02.000Z:\n\n(redacted)");
  for (const gone of ["kindly", "shy", '"sent"', "hung up", "no mail came", "kinder"]) {
    expect(JSON.stringify({ task, evidence, page })).not.toContain(gone);
  }
});

test("the page keeps a person's or a model's words in fences that they cannot close", async () => {
  const store = openStore();
  await keepTask(store, whole);
  const page = exportPage((await exportTask(clientOf(store), "task")).task, 1);
  expect(page).toContain("````\nada is ```shy```\n````");
  expect(page).toContain("### q1 for c6_0 Send: approved");
  expect(page).toContain("1 result with its sources is in a file of its own.");
});

test("only the owner, in the task's place, is given an export", async () => {
  const store = openStore();
  await keepTask(store, whole);
  for (const other of [clientOf(store, "local:bob"), clientOf(store, undefined, "elsewhere")]) {
    await expect(exportTask(other, "task")).rejects.toMatchObject({ code: "not_found" });
  }
});
