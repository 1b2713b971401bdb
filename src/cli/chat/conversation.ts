// One task talked with: what the person types is posted, a worker in this process works the task, and the transcript follows
// the log, whoever writes it.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { decideApproval, showApproval } from "../../client/approvals.ts";
import { createTask } from "../../client/create-task.ts";
import { post } from "../../client/post.ts";
import { followLog } from "../../client/read-log.ts";
import type { TaskRequest } from "../../client/create-task.ts";
import type { NewItem } from "../../core/items.ts";
import { isRunning } from "../../core/state.ts";
import { defaultWorkerOptions, startWorker, type Worker } from "../../worker/worker.ts";
import { failureOf } from "../failure.ts";
import type { Session } from "../session.ts";
import type { Workshop } from "../workshop.ts";
import { intentOf, requestsOf, type DecideIntent, type Seen } from "./intent.ts";
import { createTranscript, hear, take, type Transcript } from "./transcript.ts";

export interface ConversationOptions {
  readonly session: Session;
  readonly workshop: Workshop;
  /** What to create with the first words, where there is no task yet. */
  readonly request: (objective: string) => TaskRequest;
  /** The task to go on with. */
  readonly task?: { readonly taskId: string; readonly agent: string };
}

export class Conversation {
  readonly transcript: Transcript = createTranscript();
  readonly #options: ConversationOptions;
  readonly #left = new AbortController();
  /** One chat is a front end of its own: another on the same task has controls of its own. */
  readonly #name = `chat ${randomUUID()}`;
  readonly #showings = new Map<string, Promise<number>>();
  readonly #listeners = new Set<() => void>();
  #taskId: string | undefined;
  #worker: Worker | undefined;
  #following: Promise<void> = Promise.resolve();
  #failure: Error | undefined;

  constructor(options: ConversationOptions) {
    this.#options = options;
    if (options.task !== undefined) this.#open(options.task.taskId, options.task.agent);
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }

  /** Aborted once the person has left, or the log cannot be followed any more. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** A turn runs: there is something to interrupt. */
  get isBusy(): boolean {
    const { state } = this.transcript;
    if (state === undefined) return this.#taskId !== undefined;
    return state.ended === undefined && state.waiting === undefined && (isRunning(state) || state.inboxTaken === 0);
  }

  /** Calls `changed` after each change of what there is to show. Returns how to stop. */
  subscribe(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => {
      this.#listeners.delete(changed);
    };
  }

  /** Does what a typed line asks for. `seen`: what stood first when it was begun. Never throws: what cannot be done is told. */
  async enter(line: string, seen?: Seen): Promise<void> {
    const intent = intentOf(line, this.transcript.state, seen);
    try {
      switch (intent?.do) {
        case "create":
          await this.#create(intent.text);
          break;
        case "post":
          await this.#post(intent.item);
          break;
        case "decide":
          await this.#decide(intent);
          break;
        case "tell":
          this.#tell(intent.text);
          break;
        case "leave":
          this.leave();
          break;
        case undefined:
      }
    } catch (error) {
      this.#tell(`not accepted: ${failureOf(error).message}`);
    }
  }

  /** Stops the turn that runs. */
  async interrupt(): Promise<void> {
    if (this.isBusy) await this.enter("/interrupt");
  }

  leave(): void {
    this.#left.abort(new Error("left"));
  }

  /** Lets the worker finish its step and give the task back. Throws what ended the following, if it failed. */
  async close(): Promise<void> {
    this.leave();
    await this.#worker?.stop();
    await this.#following;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #post(item: NewItem): Promise<void> {
    const { seq } = await post(this.#options.session.client, { taskId: this.#taskId ?? "", item });
    const { state, sent } = this.transcript;
    if ((item.type !== "Say" && item.type !== "Steer") || (state !== undefined && seq <= state.inboxTaken)) return;
    sent.set(seq, item.type === "Steer" ? `(steers) ${item.text}` : item.text);
    this.#changed();
  }

  /** Under the controls that this chat has shown: another's newer ones do not make them old. */
  async #decide({ do: _, ...decision }: DecideIntent): Promise<void> {
    const { client } = this.#options.session;
    const showing = await this.#show(decision.request);
    const receipt = await decideApproval(client, { taskId: this.#taskId ?? "", ...decision, showing });
    if (receipt.counts) return;
    const was = receipt.decision === "approve" ? "approved" : "denied";
    this.#tell(`${receipt.request} had been ${was} by ${receipt.by} before`);
  }

  /** The controls for a request that this chat puts up, once. */
  #show(request: string): Promise<number> {
    const { client } = this.#options.session;
    const known = this.#showings.get(request);
    if (known !== undefined) return known;
    // What cannot be shown any more is refused, with the reason, when somebody decides on it.
    const shown = showApproval(client, { taskId: this.#taskId ?? "", request, frontEnd: this.#name }).catch(() => 0);
    this.#showings.set(request, shown);
    return shown;
  }

  #tell(text: string): void {
    // In no log: it is gone when the task is opened again.
    this.transcript.blocks.push({ kind: "note", text });
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  async #create(objective: string): Promise<void> {
    if (this.#taskId !== undefined) {
      // The first words are on their way; these are said after them.
      await this.#post({ type: "Say", text: objective });
      return;
    }
    const request = this.#options.request(objective);
    const { taskId } = await createTask(this.#options.session.client, request);
    this.#open(taskId, request.agent);
    this.#changed();
  }

  #open(taskId: string, agent: string): void {
    this.#taskId = taskId;
    this.#following = this.#follow(taskId, agent).catch((error: unknown) => {
      if (this.left.aborted) return;
      this.#failure = error instanceof Error ? error : new Error(String(error), { cause: error });
      this.leave();
    });
    this.#worker = this.#work(taskId);
  }

  async #follow(taskId: string, agent: string): Promise<void> {
    const { session, workshop } = this.#options;
    const reducers = workshop.agents.prepared.get(agent)?.reducers ?? {};
    for await (const recorded of followLog(session.client, { taskId, after: 0, signal: this.left })) {
      take(this.transcript, taskId, recorded, reducers);
      for (const { request } of requestsOf(this.transcript.state)) void this.#show(request);
      this.#changed();
    }
  }

  #work(taskId: string): Worker {
    const { session, workshop } = this.#options;
    const { host } = workshop;
    const ports = workshop.ports(session.store, {
      note: (_taskId, message) => this.#tell(message),
      delta: (_taskId, delta) => {
        hear(this.transcript, delta);
        this.#changed();
      },
    });
    const pollMs = Math.min(defaultWorkerOptions.pollMs, session.settings.leaseMs);
    const name = `chat ${String(process.pid)}@${hostname()}`;
    return startWorker(ports, { ...defaultWorkerOptions, concurrency: 1, name, pollMs, host, taskId });
  }
}
