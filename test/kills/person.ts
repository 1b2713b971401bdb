// The person of the kill tests: keeps tasks in flight, says things to them at any time, interrupts, looks outside before
// it settles what is unknown, resumes, and closes. It never dies, and remembers what was acknowledged to it.
import { ClientError, type Client } from "../../src/client/client.ts";
import { createTask } from "../../src/client/create-task.ts";
import { post } from "../../src/client/post.ts";
import type { NewItem } from "../../src/core/items.ts";
import { createClient } from "../../src/runtime.ts";
import { StoreError, type Store, type TaskRow } from "../../src/store/store.ts";
import type { Chance } from "../../src/testing/simulation/chance.ts";
import { AGENT, MODEL, readEffects } from "./counting-agent.ts";

export const clientOf = (store: Store): Client =>
  createClient({ store, principal: "person:ada", frontEnd: "kills", place: "here" });

export interface PersonOptions {
  readonly store: Store;
  /** The file of effects: what it looks at before it settles anything. */
  readonly effects: string;
  readonly chance: Chance;
  /** How many tasks it keeps in flight. */
  readonly tasks: number;
  /** How many turns a task gets before it is closed. */
  readonly turns: number;
}

const rests = (row: TaskRow): boolean => row.status === "waiting" && row.inboxSeq === row.inboxTaken;

export class Person {
  /** By task: the inbox seqs that were acknowledged. The objective came with the task. */
  readonly accepted = new Map<string, number[]>();
  readonly ended = new Set<string>();
  readonly #options: PersonOptions;
  readonly #client: Client;
  /** Tasks in flight, by how many turns they still get. */
  readonly #turnsLeft = new Map<string, number>();
  #goingHome = false;

  constructor(options: PersonOptions) {
    this.#options = options;
    this.#client = clientOf(options.store);
  }

  /** Begins no task any more. */
  goHome(): void {
    this.#goingHome = true;
  }

  /** Tends its tasks, at every hint of the store and now and then, until it went home and every task has ended. */
  async tend(): Promise<void> {
    const { store } = this.#options;
    let hint = Promise.withResolvers<void>();
    const give = (): void => hint.resolve();
    const timer = setInterval(give, 25);
    const unsubscribe = store.subscribe(give);
    try {
      for (;;) {
        await this.#look();
        if (this.#goingHome && this.#turnsLeft.size === 0) return;
        await hint.promise;
        hint = Promise.withResolvers();
      }
    } finally {
      clearInterval(timer);
      unsubscribe();
    }
  }

  async #look(): Promise<void> {
    const { store, tasks } = this.#options;
    while (!this.#goingHome && this.#turnsLeft.size < tasks) await this.#create();
    for (const taskId of [...this.#turnsLeft.keys()]) {
      const row = await store.getTask({ taskId });
      if (row === null) throw new Error(`task ${taskId} is gone`);
      if (row.held !== null) throw new Error(`task ${taskId} is held: ${row.held.reason}`);
      if (row.status === "ended") {
        this.ended.add(taskId);
        this.#turnsLeft.delete(taskId);
      } else if (rests(row)) await this.#answer(row);
      else await this.#disturb(row);
    }
  }

  async #create(): Promise<void> {
    const { chance, turns } = this.#options;
    const { taskId } = await createTask(this.#client, {
      ...{ agent: AGENT, settings: { model: MODEL }, objective: "Do all of it.", mode: "conversation" },
      onInterrupt: chance.below(3) === 0 ? "pause" : "continue",
    });
    this.accepted.set(taskId, [1]);
    this.#turnsLeft.set(taskId, turns - 1);
  }

  /** A task that waits gets what it waits for. */
  async #answer({ taskId, waitingOn }: TaskRow): Promise<void> {
    if (waitingOn === "resolution") return this.#settle(taskId);
    if (waitingOn === "resume") return this.#post(taskId, { type: "Resume" });
    if (waitingOn !== "input") throw new Error(`task ${taskId} waits on ${String(waitingOn)}`);
    const left = this.#turnsLeft.get(taskId) ?? 0;
    if (left === 0) return this.#post(taskId, { type: "Close" });
    this.#turnsLeft.set(taskId, left - 1);
    return this.#post(taskId, { type: "Say", text: "And once more." });
  }

  async #settle(taskId: string): Promise<void> {
    const { store, effects } = this.#options;
    const lines = readEffects(effects);
    for (const { key: callId, set } of await store.readRows({ taskId, table: "actions" })) {
      if (set?.["status"] !== "unknown") continue;
      const happened = lines.some((line) => line.taskId === taskId && line.callId === callId);
      const outcome = happened ? "done" : "absent";
      await this.#post(taskId, { type: "Resolve", callId, outcome, verification: "looked at the file" });
    }
  }

  /** Now and then something is said, or a stop asked for, in the middle of a turn. */
  async #disturb({ taskId }: TaskRow): Promise<void> {
    const dice = this.#options.chance.below(1_500);
    if (dice < 6) await this.#post(taskId, { type: "Say", text: "Not so fast: look again." });
    else if (dice === 6) await this.#post(taskId, { type: "Interrupt" });
  }

  /** What the task's state does not allow any more is not posted; anything else that is refused is an error. */
  async #post(taskId: string, item: NewItem): Promise<void> {
    try {
      const { seq } = await post(this.#client, { taskId, item });
      this.accepted.get(taskId)?.push(seq);
    } catch (error) {
      const refused = error instanceof ClientError && error.code === "refused";
      // It was closed, and ended since it was looked at: said to nobody, and told so.
      const ended = error instanceof StoreError && error.code === "ended";
      if (!refused && !ended) throw error;
    }
  }
}
