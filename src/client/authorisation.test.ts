// Who may do what: every verb of a client, for everybody who may ask, on every kind of task. The verbs are read from the
// item types and from the sources of this folder, so that a new one without a row fails.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { itemTypes, type ItemType, type NewItem } from "../core/items.ts";
import { createMemoryStore } from "../store/memory/store.ts";
import type { Store } from "../store/store.ts";
import { called, core, created, replied, say, taken, waiting } from "../testing/given.ts";
import { clientOf, keepTask } from "../testing/kept-task.ts";
import { decideApproval, listApprovals, showApproval } from "./approvals.ts";
import { exportBundle, hasMoved, importBundle, type ExportedBundle } from "./bundles.ts";
import type { Client } from "./client.ts";
import { createTask } from "./create-task.ts";
import { exportTask } from "./export-task.ts";
import { findTask } from "./find-task.ts";
import { listTasks } from "./list-tasks.ts";
import { post } from "./post.ts";
import { followLog, readLog } from "./read-log.ts";
import { showPlan } from "./show-plan.ts";
import { showRequest } from "./show-request.ts";
import { showTask } from "./show-task.ts";

const who = ["owner", "collaborator", "another", "operator", "owner elsewhere"] as const;
type Who = (typeof who)[number];

const kinds = ["public", "private", "handed off"] as const;
type Kind = (typeof kinds)[number];

type Cell = "yes" | "no";
type Row = (asker: Who, kind: Kind) => Cell;

const ownerAlone: Row = (asker) => (asker === "owner" ? "yes" : "no");
const anybody: Row = () => "yes";
const nobody: Row = () => "no";

const steers: Row = (asker, kind) => (asker === "collaborator" && kind === "public" ? "yes" : ownerAlone(asker, kind));

interface World {
  readonly store: Store;
  readonly bundle: ExportedBundle;
}

interface Verb {
  readonly may: Row;
  /** Rejects, or gives false, for who may not. */
  readonly perform: (client: Client, world: World) => Promise<unknown>;
}

const request = {
  agent: "demo",
  settings: { model: "m" },
  objective: "another",
  mode: "conversation",
  onInterrupt: "continue",
} as const;

const functions: Readonly<Record<string, Verb>> = {
  createTask: { may: anybody, perform: (client) => createTask(client, request) },
  findTask: { may: ownerAlone, perform: (client) => findTask(client, "task") },
  listTasks: { may: ownerAlone, perform: async (client) => (await listTasks(client)).length > 0 },
  post: { may: ownerAlone, perform: (client) => post(client, { taskId: "task", item: { type: "Say", text: "hi" } }) },
  readLog: { may: ownerAlone, perform: (client) => readLog(client, "task") },
  followLog: {
    may: ownerAlone,
    perform: (client) => followLog(client, { taskId: "task", after: 0, signal: new AbortController().signal }).next(),
  },
  showTask: { may: ownerAlone, perform: (client) => showTask(client, "task") },
  listApprovals: { may: ownerAlone, perform: (client) => listApprovals(client, "task") },
  showApproval: { may: ownerAlone, perform: (client) => showApproval(client, { taskId: "task", request: "q" }) },
  decideApproval: {
    may: ownerAlone,
    perform: (client) => decideApproval(client, { taskId: "task", decision: "approve" }),
  },
  showPlan: { may: ownerAlone, perform: (client) => showPlan(client, "task") },
  showRequest: { may: ownerAlone, perform: (client) => showRequest(client, "task", 1) },
  exportTask: { may: ownerAlone, perform: (client) => exportTask(client, "task") },
  exportBundle: { may: ownerAlone, perform: (client) => exportBundle(client, "task") },
  importBundle: { may: ownerAlone, perform: (client, { bundle }) => importBundle(client, bundle) },
  hasMoved: { may: ownerAlone, perform: (client, { bundle }) => hasMoved(client, bundle).then(() => true) },
};

/** What the functions above are made of: each asks part of what they ask. */
const parts = ["findToPost", "notFound", "peopleRefusal", "requireAccess"];

const origin = { frontEnd: "test", place: "far", conversation: "c", private: true };

const items: { readonly [K in ItemType]: Extract<NewItem, { type: K }> } = {
  Say: { type: "Say", text: "hi" },
  Steer: { type: "Steer", text: "no, this" },
  Decide: { type: "Decide", requestId: "q", inputHash: "h", showing: 1, decision: "approve" },
  Answer: { type: "Answer", question: "c4_0", text: "yes" },
  Signal: { type: "Signal", name: "s" },
  ChildEnded: { type: "ChildEnded", childId: "c", callId: "c4_0", outcome: "done" },
  TimerFired: { type: "TimerFired", timerId: "t", dueAt: 1 },
  Interrupt: { type: "Interrupt" },
  Cancel: { type: "Cancel" },
  Close: { type: "Close" },
  Resume: { type: "Resume" },
  Resolve: { type: "Resolve", callId: "c4_0", outcome: "done", verification: "seen" },
  Verify: { type: "Verify", callId: "c4_0" },
  SourceChanged: { type: "SourceChanged", source: "s", deleted: true },
  Handoff: { type: "Handoff", origin },
  Collaborate: { type: "Collaborate", principal: "local:eve", change: "add" },
  Reconfigure: { type: "Reconfigure", settings: { model: "n" } },
};

const kernels: readonly ItemType[] = ["ChildEnded", "TimerFired"];

const mayPost = (type: ItemType): Row => (type === "Steer" ? steers : kernels.includes(type) ? nobody : ownerAlone);

const posts = Object.fromEntries(
  itemTypes.map((type): [string, Verb] => [
    type,
    {
      may: mayPost(type),
      perform: (client) => post(client, { taskId: "task", item: items[type] }),
    },
  ]),
);

const collaborates = core("collaborator", { principal: "local:bob", change: "add", by: "local:root" });
const handsOff = core("handoff", { origin: { ...origin, place: "there" }, by: "local:root" });

const createWorld = async (kind: Kind): Promise<World> => {
  const store = createMemoryStore();
  onTestFinished(() => store.close());
  const isPrivate = kind === "private";
  await keepTask(store, [
    created({ root: "task", origin: { frontEnd: "cli", place: "here", conversation: "one", private: isPrivate } }),
    ...[taken(say("go")), called(), replied("Done."), collaborates],
    ...(kind === "handed off" ? [handsOff] : []),
    waiting("input", { outcome: "completed" }),
  ]);
  return { store, bundle: await exportBundle(clientOf(store, undefined, placeOf(kind)), "task") };
};

const placeOf = (kind: Kind): string => (kind === "handed off" ? "there" : "here");

const clientFor = (store: Store, asker: Who, kind: Kind): Client => {
  const place = placeOf(kind);
  const other = place === "here" ? "there" : "here";
  const principals: Record<Who, string> = {
    ...{ owner: "local:root", collaborator: "local:bob", another: "local:eve", operator: "operator:root" },
    "owner elsewhere": "local:root",
  };
  return clientOf(store, principals[asker], asker === "owner elsewhere" ? other : place);
};

/** What a client says to who has no such task. What the task's state does not allow is another matter. */
const isDenied = (error: unknown): boolean => {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  return code === "not_found" || (code === "refused" && /belongs to|is the kernel's own/.test(message ?? ""));
};

const may = async (verb: Verb, asker: Who, kind: Kind): Promise<Cell> => {
  const world = await createWorld(kind);
  try {
    return (await verb.perform(clientFor(world.store, asker, kind), world)) === false ? "no" : "yes";
  } catch (error) {
    return isDenied(error) ? "no" : "yes";
  }
};

/** Exported functions of this folder whose first parameter is a Client. */
const functionNames = (): string[] =>
  readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .flatMap((name) =>
      readFileSync(join(import.meta.dirname, name), "utf8")
        .split(/^export /m)
        .slice(1),
    )
    .flatMap(
      (text) =>
        /^(?:const|async function\*) (\w+)(?: = (?:async )?)?\(\s*(?:\w+|\{[^}]*\}): Client\b/.exec(text)?.[1] ?? [],
    );

test("every function of a client, and every type of item, has its row", () => {
  expect(functionNames().length).toBeGreaterThan(10);
  expect(functionNames().sort()).toEqual([...Object.keys(functions), ...parts].sort());
  expect(Object.keys(items).sort()).toEqual([...itemTypes].sort());
});

describe.each(kinds)("of a task that is %s", (kind) => {
  test.each(Object.entries({ ...functions, ...posts }))("%s is for those who may", async (_, verb) => {
    for (const asker of who) {
      const cell = verb.may(asker, kind);
      expect({ asker, may: await may(verb, asker, kind) }).toEqual({ asker, may: cell });
    }
  });
});
