// The one writer of a claimed task's log: folds what it is given at once, and appends it when told to commit.
import type { Event } from "../core/events.ts";
import { sealEvents, type SealedEvent } from "../core/envelope.ts";
import { PROVISIONAL, confirmTime } from "../core/fold.ts";
import { applyAndProject, columnsOf, mergeRows, type Row } from "../core/project.ts";
import { branchOf, type Reducers, type TaskState } from "../core/state.ts";
import { StoreError, type AppendParams, type AppendReceipt, type Definition, type Post } from "../store/store.ts";
import { ClaimLost, type Lease } from "./lease.ts";
import type { RunnerPorts } from "./ports.ts";

/** An event, or a plugin's reducer, that the state does not take. Nothing of it was appended. */
export class FoldFailed extends Error {
  override readonly name = "FoldFailed";
}

export interface CommitOptions {
  /** Appended only if the inbox has nothing after `inboxSeen`; not folded before that is known. */
  readonly final?: { readonly events: readonly Event[]; readonly inboxSeen: number };
  readonly posts?: readonly Post[];
}

/**
 * - `appended`: all of it, or it was found to be there already.
 * - `moved`: nothing; the inbox holds something after `inboxSeen`. What was pending stays pending.
 * - `refolded`: nothing; the log was redacted meanwhile and has been folded anew. Results stay pending, all else that was
 *   pending was made from content that may be gone, and was dropped: decide again.
 */
export type CommitResult = "appended" | "moved" | "refolded";

export interface Start {
  readonly state: TaskState;
  readonly chain: Uint8Array;
  readonly revision: number;
}

/** Results of calls, and the records that belong to them, are facts about the outside and outlive a redaction. */
const outlivesRedaction = (event: Event): boolean =>
  event.type === "ToolFinished" || (event.type === "ExtensionRecorded" && event.extension !== "core");

type Ports = Pick<RunnerPorts, "store" | "hasher" | "random" | "clock" | "limits">;

export class Journal {
  state: TaskState;
  revision: number;
  /** The inbox's last seq, as far as the newest commit told. */
  inboxSeq = 0;
  timerDue = false;
  /** Seqs and bytes appended in this claim: what a snapshot is measured by. */
  appendedBytes = 0;
  readonly #ports: Ports;
  readonly #reducers: Reducers;
  readonly #lease: Lease;
  readonly #fence: number;
  readonly #refold: () => Promise<Start>;
  #chain: Uint8Array;
  #seq: number;
  #pending: Event[] = [];
  #rows: Row[] = [];
  #taken: number | undefined;
  #definitions: Definition[] = [];

  constructor(
    ports: Ports,
    reducers: Reducers,
    claim: { readonly lease: Lease; readonly fence: number; readonly refold: () => Promise<Start> },
    start: Start,
  ) {
    this.#ports = ports;
    this.#reducers = reducers;
    this.#lease = claim.lease;
    this.#fence = claim.fence;
    this.#refold = claim.refold;
    this.#chain = start.chain;
    this.#seq = start.state.seq;
    this.state = start.state;
    this.revision = start.revision;
    this.inboxSeq = start.state.inboxTaken;
  }

  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** The last seq that is certainly in the log. */
  get committedSeq(): number {
    return this.#seq;
  }

  get chain(): Uint8Array {
    return this.#chain;
  }

  /** Folds events into the state, to be appended by the next commit. */
  add(...events: readonly Event[]): void {
    for (const event of events) this.#fold(this.state, event, this.#rows);
    this.#pending.push(...events);
  }

  /** Definitions to be kept with the next commit; those already known change nothing. */
  define(definitions: readonly Definition[]): void {
    this.#definitions.push(...definitions);
  }

  #fold(state: TaskState, event: Event, rows: Row[]): void {
    const recorded = { seq: state.seq + 1, at: PROVISIONAL, event };
    try {
      rows.push(...applyAndProject(state, recorded, this.#reducers));
    } catch (cause) {
      throw new FoldFailed(`task ${state.taskId}: ${event.type} does not fold: ${String(cause)}`, { cause });
    }
    if (event.type === "InputTaken") this.#taken = event.through;
  }

  /**
   * Appends what is pending, all or nothing. Throws ClaimLost when another holds the task, and StoreError `unavailable`
   * when the store could not be reached for `storeRetryMs`.
   */
  async commit(options: CommitOptions = {}): Promise<CommitResult> {
    const { final } = options;
    const state = final === undefined ? this.state : branchOf(this.state);
    const rows = [...this.#rows];
    for (const event of final?.events ?? []) this.#fold(state, event, rows);
    const events = [...this.#pending, ...(final?.events ?? [])];
    if (events.length === 0) throw new Error(`task ${state.taskId}: a commit with nothing to append`);
    const after = { seq: this.#seq, chain: this.#chain };
    const drafts = sealEvents(this.#ports.hasher, after, events, () => this.#ports.random.salt());
    const receipt = await this.#append({
      taskId: state.taskId,
      fence: this.#fence,
      revision: this.revision,
      drafts,
      columns: columnsOf(state),
      rows: mergeRows(rows),
      ...(this.#taken === undefined ? {} : { taken: this.#taken }),
      ...(final === undefined ? {} : { inboxSeen: final.inboxSeen }),
      ...(options.posts === undefined ? {} : { posts: options.posts }),
      ...(this.#definitions.length === 0 ? {} : { definitions: this.#definitions }),
    });
    if (receipt === "moved") return "moved";
    if (receipt === "redacted") {
      await this.#foldAnew();
      return "refolded";
    }
    this.#committed(state, drafts, receipt);
    return "appended";
  }

  async #foldAnew(): Promise<void> {
    const { state, chain, revision } = await this.#refold();
    const facts = this.#pending.filter(outlivesRedaction);
    this.state = state;
    this.revision = revision;
    this.#seq = state.seq;
    this.#chain = chain;
    this.#pending = [];
    this.#rows = [];
    this.#taken = undefined;
    this.add(...facts);
  }

  #committed(state: TaskState, drafts: readonly SealedEvent[], receipt: AppendReceipt): void {
    const last = drafts.at(-1);
    if (last === undefined) return;
    this.state = state;
    this.#seq = last.seq;
    this.#chain = last.chain;
    this.#pending = [];
    this.#rows = [];
    this.#taken = undefined;
    this.#definitions = [];
    this.inboxSeq = receipt.inboxSeq;
    this.timerDue = receipt.timerDue;
    for (const draft of drafts) this.appendedBytes += draft.body.length;
    confirmTime(state, receipt.at);
  }

  /** Appends, again and identical while the outcome is unknown. */
  async #append(params: AppendParams): Promise<AppendReceipt | "moved" | "redacted"> {
    const until = this.#ports.clock.monotonic() + this.#ports.limits.storeRetryMs;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#ports.store.append(params);
      } catch (error) {
        const known = await this.#judge(params, error, tries);
        if (known !== "again") return known;
        if (this.#ports.clock.monotonic() > until) throw error;
        const waitMs = Math.min(1_000, 20 * 2 ** tries) * (0.5 + this.#ports.random.fraction() / 2);
        await this.#ports.clock.sleep(waitMs, this.#lease.lost);
      }
    }
  }

  async #judge(
    params: AppendParams,
    error: unknown,
    tries: number,
  ): Promise<AppendReceipt | "moved" | "redacted" | "again"> {
    if (!(error instanceof StoreError)) throw error;
    switch (error.code) {
      case "inbox_moved":
        return "moved";
      case "unavailable":
        return "again";
      case "conflict":
      case "ended":
        return this.#confirm(params, error);
      case "redacted":
        return tries > 1 && (await this.#isInLog(params)) ? this.#receipt(params) : "redacted";
      case "not_owner":
      case "not_found":
      case "forgotten":
        this.#lease.lose(error.message);
        throw new ClaimLost(`task ${params.taskId}: ${error.message}`, { cause: error });
      default:
        throw error;
    }
  }

  /** A log that already ends in these very events is the answer that was lost; anything else must not happen. */
  async #confirm(params: AppendParams, error: StoreError): Promise<AppendReceipt> {
    if (await this.#isInLog(params)) return this.#receipt(params);
    this.#lease.lose(error.message);
    throw new ClaimLost(`task ${params.taskId}: the log is not what this worker wrote: ${error.message}`, {
      cause: error,
    });
  }

  async #isInLog(params: AppendParams): Promise<boolean> {
    const first = params.drafts[0]?.seq ?? 1;
    const limit = params.drafts.length;
    const stored = await this.#ports.store.read({ taskId: params.taskId, after: first - 1, limit });
    return params.drafts.every((draft, index) => {
      const digest = stored[index]?.digest;
      return digest !== undefined && equalBytes(digest, draft.digest);
    });
  }

  async #receipt(params: AppendParams): Promise<AppendReceipt> {
    const { taskId, drafts } = params;
    const row = await this.#ports.store.getTask({ taskId });
    const lastSeq = drafts.at(-1)?.seq ?? 0;
    const entries = await this.#ports.store.read({ taskId, after: lastSeq - 1, limit: 1 });
    const due = row?.nextTimerAt ?? null;
    const at = entries[0]?.at ?? row?.updatedAt ?? 0;
    return { lastSeq, at, inboxSeq: row?.inboxSeq ?? 0, timerDue: due !== null && due <= at };
  }
}

const equalBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);
