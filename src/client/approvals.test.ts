// Requests as whoever decides sees them, and what a decision answers: over a task that a runner has really parked.
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { openAccess } from "../access/local/local.ts";
import { systemRandom } from "../runtime.ts";
import { macUnder, nodeHasher } from "../store/node-hasher.ts";
import { call } from "../testing/given.ts";
import { createHarness, TASK, toolOf, type Harness } from "../testing/harness.ts";
import { OWNER } from "../testing/simulation/system.ts";
import { decideApproval, listApprovals, showApproval } from "./approvals.ts";
import type { Client } from "./client.ts";
import { post } from "./post.ts";
import { showTask } from "./show-task.ts";

const OTHER = "person:bob";

const clientOf = ({ store }: Harness, principal = OWNER, place = "here"): Client => ({
  store,
  access: openAccess,
  hasher: nodeHasher,
  mac: macUnder,
  random: { ...systemRandom(), secret: () => new Uint8Array(randomBytes(32)) },
  principal,
  frontEnd: "test",
  place,
});

const asking = async (decides?: string): Promise<Harness> => {
  const harness = await createHarness({
    tools: [toolOf("drop", "destructive", { items: (({ names }: { names: string[] }) => names) as never })],
    plugins: [
      {
        name: "guard",
        version: "1",
        hooks: {
          beforeTool: ({ input }) => ({
            ...({ verdict: "ask", reason: "It is final.", expiresInMs: 60_000 } as const),
            ...(decides !== undefined && (input as { names: string[] }).names.includes("b") ? { decides } : {}),
          }),
        },
      },
    ],
    script: [[call("drop", { names: ["a"] }), call("drop", { names: ["a", "b"] })], "So be it."],
  });
  harness.start();
  await harness.rest();
  return harness;
};

test("each is seen with exactly what would run, and how it may be decided", async () => {
  const harness = await asking();
  const alice = clientOf(harness);
  const [first, second] = await listApprovals(alice, TASK);
  expect(first).toMatchObject({
    ...{ request: "ask_c6_0", call: "c6_0", name: "drop", effect: "destructive", input: { names: ["a"] } },
    ...{ redacted: false, items: ["a"], reason: "It is final.", decides: OWNER, requestedSeq: 7, showing: 0 },
    decided: null,
  });
  expect(first?.inputHash).toMatch(/^[0-9a-f]{64}$/);
  expect(first?.expiresAt).toBeGreaterThan(harness.now);
  expect(second?.items).toEqual(["a", "b"]);
  expect((await showTask(alice, TASK)).approvals).toEqual([first, second]);
});

test("a decision is acknowledged before a worker takes it, and seen so", async () => {
  const harness = await asking();
  const alice = clientOf(harness);
  for (const { worker } of harness.processes) await worker.stop();
  const receipt = await decideApproval(alice, { taskId: TASK, request: "c6_1", decision: "deny", reason: "no" });
  expect(receipt).toEqual({ taskId: TASK, request: "ask_c6_1", counts: true, decision: "deny", by: OWNER, seq: 2 });
  const [, second] = await listApprovals(alice, TASK);
  expect(second?.decided).toMatchObject({ decision: "deny", by: OWNER });
  expect(await decideApproval(alice, { taskId: TASK, request: "ask_c6_1", decision: "approve" })).toEqual({
    ...receipt,
    counts: false,
  });
});

test("case-15: one that is late is told what was decided, or the state of what it is about", async () => {
  const harness = await asking();
  const alice = clientOf(harness);
  await decideApproval(alice, { taskId: TASK, request: "ask_c6_0", decision: "approve" });
  await harness.rest();
  const late = await decideApproval(alice, { taskId: TASK, request: "ask_c6_0", decision: "deny" });
  expect(late).toMatchObject({ counts: false, decision: "approve", by: OWNER });
  const changed = decideApproval(alice, { taskId: TASK, request: "ask_c6_1", decision: "approve", inputHash: "other" });
  await expect(changed).rejects.toMatchObject({ code: "conflict", refusal: "changed", state: "pending" });
  await harness.pass(61_000);
  await harness.rest();
  const expired = decideApproval(alice, { taskId: TASK, request: "ask_c6_1", decision: "approve" });
  await expect(expired).rejects.toMatchObject({ refusal: "settled", state: "expired" });
  const unknown = decideApproval(alice, { taskId: TASK, request: "ask_c9_9", decision: "approve" });
  await expect(unknown).rejects.toMatchObject({ refusal: "not_asked" });
  const none = decideApproval(alice, { taskId: TASK, decision: "approve" });
  await expect(none).rejects.toMatchObject({ code: "refused", message: `task ${TASK} waits for no decision` });
});

test("of several the one that is meant must be named", async () => {
  const alice = clientOf(await asking());
  const unnamed = decideApproval(alice, { taskId: TASK, decision: "approve" });
  await expect(unnamed).rejects.toMatchObject({ message: expect.stringContaining("ask_c6_0 (drop), ask_c6_1 (drop)") });
});

test("controls that were put up anew make older ones of that front end stale, and no other's", async () => {
  const harness = await asking();
  const alice = clientOf(harness);
  const old = await showApproval(alice, { taskId: TASK, request: "ask_c6_0" });
  const elsewhere = await showApproval(alice, { taskId: TASK, request: "ask_c6_0", frontEnd: "elsewhere" });
  const showing = await showApproval(alice, { taskId: TASK, request: "ask_c6_0" });
  expect((await listApprovals(alice, TASK))[0]?.showing).toBe(showing);
  const decide = (given: number) =>
    decideApproval(alice, { taskId: TASK, request: "ask_c6_0", decision: "approve", showing: given });
  await expect(decide(old)).rejects.toMatchObject({ refusal: "stale" });
  expect(await decide(elsewhere)).toMatchObject({ counts: true });
});

test("another whom a request names decides on that one alone, and sees nothing else", async () => {
  const harness = await asking(OTHER);
  const [alice, bob, eve] = [clientOf(harness), clientOf(harness, OTHER), clientOf(harness, "person:eve")];
  expect((await listApprovals(bob, TASK)).map(({ request }) => request)).toEqual(["ask_c6_1"]);
  await expect(showTask(bob, TASK)).rejects.toMatchObject({ code: "not_found" });
  for (const stranger of [eve, clientOf(harness, OTHER, "elsewhere")]) {
    await expect(listApprovals(stranger, TASK)).rejects.toMatchObject({ code: "not_found" });
    const decides = decideApproval(stranger, { taskId: TASK, request: "ask_c6_1", decision: "approve" });
    await expect(decides).rejects.toMatchObject({ code: "not_found" });
  }
  const notHers = decideApproval(alice, { taskId: TASK, request: "ask_c6_1", decision: "approve" });
  await expect(notHers).rejects.toMatchObject({ refusal: "not_yours" });
  const notHis = decideApproval(bob, { taskId: TASK, request: "ask_c6_0", decision: "approve" });
  await expect(notHis).rejects.toMatchObject({ refusal: "not_yours" });
  expect(await decideApproval(bob, { taskId: TASK, decision: "approve" })).toMatchObject({ counts: true, by: OTHER });
});

test("what is redacted shows no input, and a request that is pending keeps a task from a resume and a close", async () => {
  const harness = await asking();
  const alice = clientOf(harness);
  await harness.store.redact({ taskId: TASK, seqs: [6, 7], secret: harness.system.chance.bytes(32) });
  expect((await listApprovals(alice, TASK))[0]).toMatchObject({ input: null, redacted: true, items: [], reason: null });
  const closing = post(alice, { taskId: TASK, item: { type: "Close" } });
  await expect(closing).rejects.toMatchObject({ code: "refused" });
  await post(alice, { taskId: TASK, item: { type: "Cancel" } });
  await harness.rest();
  expect(await listApprovals(alice, TASK)).toEqual([]);
  await post(alice, { taskId: TASK, item: { type: "Close" } });
  await harness.rest();
  const ended = decideApproval(alice, { taskId: TASK, request: "ask_c6_0", decision: "approve" });
  await expect(ended).rejects.toMatchObject({ code: "refused", message: expect.stringContaining("has ended") });
});
