// One task as a program holds it: what a front end may do with it, and nothing else. Every method checks that the task is
// its principal's.
import {
  decideApproval,
  listApprovals,
  showApproval,
  type ApprovalView,
  type DecisionReceipt,
} from "../client/approvals.ts";
import type { Client } from "../client/client.ts";
import { exportTask, type Exported } from "../client/export-task.ts";
import { post } from "../client/post.ts";
import { followLog, readLog } from "../client/read-log.ts";
import { showTask, type TaskView } from "../client/show-task.ts";
import { untilRest } from "../client/until-rest.ts";
import type { Recorded } from "../core/events.ts";
import type { NewItem, SettingsChange } from "../core/items.ts";
import type { ModelPart } from "../model/model.ts";
import type { PostReceipt } from "../store/store.ts";
import type { DeltaFeed } from "./delta-feed.ts";

export type Delta = Exclude<ModelPart, { type: "reply" }>;

/** What `stream` gives: an event that is committed, or a piece of a reply on its way, which may yet come to nothing. */
export type StreamPart = { readonly event: Recorded } | { readonly delta: Delta };

export interface PostOptions {
  /** Unique per task: a second post with it gives the first one's receipt. */
  readonly key?: string;
}

export interface DecideOptions extends PostOptions {
  /** What was shown: the request's hash, and the number of the control. Default: the request's own, and none. */
  readonly inputHash?: string;
  readonly showing?: number;
}

/** Reading from a seq on. `after` is exclusive; default 0, from the start. */
export interface FollowOptions {
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/** Where a task is moved to. */
export interface HandoffTarget {
  readonly place: string;
  /** The front end that serves the place; this one unless told. */
  readonly frontEnd?: string;
  /** That front end's own thread; the task's id unless told. */
  readonly conversation?: string;
}

/**
 * A task. A post that is acknowledged is committed: no crash loses it. Posts throw ClientError `refused`, with the reason,
 * for what the task's state does not allow, and StoreError `ended`, `conflict`, `unavailable`; decisions DecisionRefused.
 */
export interface Task {
  readonly id: string;

  /** Something the person says. It begins a turn, or joins the one that runs. */
  say(text: string, options?: PostOptions): Promise<PostReceipt>;
  /** A correction: calls that are not dispatched yet are skipped. */
  steer(text: string, options?: PostOptions): Promise<PostReceipt>;
  /** The answer to a question that a call asks; `question` is the call's id. */
  answer(question: string, text: string, options?: PostOptions): Promise<PostReceipt>;
  /** Requests that wait for a decision, each with exactly what would run. */
  approvals(): Promise<readonly ApprovalView[]>;
  /** Puts up new controls for a request: what they post carries this number, and older ones are refused. */
  showApproval(request: string): Promise<number>;
  /** Lets the call of a request run, once; with an `input`, as corrected. The first decision counts: see the receipt. */
  approve(request: string, options?: DecideOptions & { readonly input?: unknown }): Promise<DecisionReceipt>;
  deny(request: string, options?: DecideOptions & { readonly reason?: string }): Promise<DecisionReceipt>;
  /** From the next request on. The owner's alone, and never over another's correction. */
  autoApprove(on: boolean, options?: PostOptions): Promise<PostReceipt>;
  /** Stops the turn and keeps the task. */
  interrupt(options?: PostOptions): Promise<PostReceipt>;
  cancel(options?: PostOptions): Promise<PostReceipt>;
  close(options?: PostOptions): Promise<PostReceipt>;
  /** Goes on with a paused turn, or opens a task again that rests; with words, if there are any. */
  resume(text?: string, options?: PostOptions): Promise<PostReceipt>;
  /** Says what happened to an action that is unknown; `verification`: how that was seen. */
  resolve(
    callId: string,
    outcome: "done" | "absent",
    verification: string,
    options?: PostOptions,
  ): Promise<PostReceipt>;
  /** Lets the tool look by itself whether an unknown action took effect. */
  verify(callId: string, options?: PostOptions): Promise<PostReceipt>;
  /** Lets another steer this task, which must be public; or no longer. `principal`: `kind:id`, who may act in its place. */
  collaborator(change: "add" | "remove", principal: string, options?: PostOptions): Promise<PostReceipt>;
  /**
   * Moves the task to another place, where it is private from then on, and found by nobody but there. Of two moves from one
   * place the second is `refused`.
   */
  handoff(to: HandoffTarget): Promise<PostReceipt>;
  /** Changes the model, or limits, from the next step on. */
  reconfigure(settings: SettingsChange, options?: PostOptions): Promise<PostReceipt>;

  /** Where it stands: status, answer, actions, usage. */
  show(): Promise<TaskView>;
  /** All that it has been, for its owner to keep: words, actions, approvals, usage, and results with their sources. */
  export(): Promise<Exported>;
  /** What stands in the log after `after`. */
  events(options?: Pick<FollowOptions, "after">): Promise<readonly Recorded[]>;
  /** Events as they are committed, each once and in order, from any process; ends with the task, or with the signal. */
  follow(options?: FollowOptions): AsyncIterable<Recorded>;
  /** The same with the pieces of replies that this process's worker is given, until the task rests. */
  stream(options?: FollowOptions): AsyncIterable<StreamPart>;
  /** Resolves when the task rests: it answered, waits for somebody, or has ended, and nothing is in its inbox. */
  untilRest(options?: Pick<FollowOptions, "signal">): Promise<TaskView>;
}

const POLL_MS = 1_000;

const restOf = async (client: Client, taskId: string, signal: AbortSignal): Promise<TaskView> => {
  await untilRest(client.store, { taskId, signal, pollMs: POLL_MS });
  return showTask(client, taskId);
};

/** Ends without a fault when the one who reads has had enough. */
async function* followUntil(client: Client, taskId: string, after: number, signal: AbortSignal) {
  try {
    yield* followLog(client, { taskId, after, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

type Asked = Pick<Required<FollowOptions>, "after" | "signal">;

/** Events and deltas in the order in which they come, up to the seq at which the task rests. */
async function* streamParts(
  client: Client,
  feed: DeltaFeed,
  taskId: string,
  { after, signal }: Asked,
): AsyncGenerator<StreamPart, void, undefined> {
  const queue: StreamPart[] = [];
  let more = Promise.withResolvers<void>();
  const add = (part: StreamPart): void => {
    queue.push(part);
    more.resolve();
  };
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  const stopDeltas = feed.subscribe(taskId, (delta) => add({ delta }));
  let seen = after;
  let restsAt: number | undefined;
  let failure: Error | undefined;
  const following = (async () => {
    for await (const event of followUntil(client, taskId, after, either)) add({ event });
  })();
  const resting = untilRest(client.store, { taskId, signal: either, pollMs: POLL_MS }).then(({ lastSeq }) => {
    restsAt = lastSeq;
  });
  const fails = (error: unknown): void => {
    failure ??= error instanceof Error ? error : new Error(String(error), { cause: error });
  };
  for (const part of [following, resting]) void part.catch(fails).finally(() => more.resolve());
  try {
    while (!signal.aborted) {
      more = Promise.withResolvers();
      for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
        if ("event" in part) seen = part.event.seq;
        yield part;
      }
      if (failure !== undefined) throw failure;
      if (restsAt !== undefined && seen >= restsAt) return;
      if (queue.length === 0) await more.promise;
    }
  } finally {
    stopDeltas();
    done.abort(new Error("done"));
    await Promise.allSettled([following, resting]);
  }
}

const never = (): AbortSignal => new AbortController().signal;

export const createTaskHandle = (client: Client, feed: DeltaFeed, taskId: string): Task => {
  const send = (item: NewItem, { key }: PostOptions = {}): Promise<PostReceipt> =>
    post(client, { taskId, item, ...(key === undefined ? {} : { key }) });
  const decide = (decision: "approve" | "deny", request: string, more: object = {}): Promise<DecisionReceipt> =>
    decideApproval(client, { taskId, request, decision, ...more });
  return {
    id: taskId,
    say: (text, options) => send({ type: "Say", text }, options),
    steer: (text, options) => send({ type: "Steer", text }, options),
    answer: (question, text, options) => send({ type: "Answer", question, text }, options),
    approvals: () => listApprovals(client, taskId),
    showApproval: (request) => showApproval(client, { taskId, request }),
    approve: (request, options) => decide("approve", request, options),
    deny: (request, options) => decide("deny", request, options),
    autoApprove: (on, options) => send({ type: "Reconfigure", settings: { autoApprove: on } }, options),
    interrupt: (options) => send({ type: "Interrupt" }, options),
    cancel: (options) => send({ type: "Cancel" }, options),
    close: (options) => send({ type: "Close" }, options),
    resume: (text, options) => send({ type: "Resume", ...(text === undefined ? {} : { text }) }, options),
    resolve: (callId, outcome, verification, options) =>
      send({ type: "Resolve", callId, outcome, verification }, options),
    verify: (callId, options) => send({ type: "Verify", callId }, options),
    collaborator: (change, principal, options) => send({ type: "Collaborate", principal, change }, options),
    handoff: ({ place, frontEnd = client.frontEnd, conversation = taskId }) =>
      send({ type: "Handoff", origin: { frontEnd, place, conversation, private: true } }),
    reconfigure: (settings, options) => send({ type: "Reconfigure", settings }, options),
    show: () => showTask(client, taskId),
    export: () => exportTask(client, taskId),
    events: ({ after = 0 } = {}) => readLog(client, taskId, after),
    follow: ({ after = 0, signal = never() } = {}) => followUntil(client, taskId, after, signal),
    stream: ({ after = 0, signal = never() } = {}) => streamParts(client, feed, taskId, { after, signal }),
    untilRest: ({ signal = never() } = {}) => restOf(client, taskId, signal),
  };
};
