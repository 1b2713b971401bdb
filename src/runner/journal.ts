// The one writer of a claimed task's log: folds what it is given at once, and appends it when told to commit.
import { encodeEvent } from "../core/codec.ts";
import type { Event } from "../core/events.ts";
import { equalBytes, sealEncoded, type SealedEvent } from "../core/envelope.ts";
import { PROVISIONAL, confirmTime } from "../core/fold.ts";
import { applyAndProject, changedColumns, columnsOf, mergeRows, type Row, type TaskColumns } from "../core/project.ts";
import { withoutTaint } from "../core/redact.ts";
import { branchOf, type Reducers, type TaskState } from "../core/state.ts";
import { StoreError, type AppendParams, type AppendReceipt, type Definition, type Post } from "../store/store.ts";
import { ClaimLost, type Lease } from "./lease.ts";
import { outliving, type Group, type Made } from "./outliving.ts";
import type { RunnerPorts } from "./ports.ts";
import { untilAnswered } from "./until-answered.ts";

/** An event, or a plugin's reducer, that the state does not take. Nothing of it was appended. */
export class FoldFailed extends Error {
  override readonly name = "FoldFailed";
}

export interface CommitOptions {
  /** Appended only if the inbox has nothing after `inboxSeen`; not folded before that is known. */
  readonly final?: { readonly events: readonly Event[]; readonly inboxSeen: number };
  readonly posts?: readonly Post[];
  /** The events tell of a restore that began this epoch. */
  readonly epoch?: number;
}

/**
 * - `appended`: all of it, or it was found to be there already.
 * - `moved`: nothing; the inbox holds something after `inboxSeen`. What was pending stays pending.
 * - `refolded`: nothing; the log was redacted meanwhile and has been folded anew. Results stay pending, with the plugins'
 *   records that belong to them; all else that was pending was made from content that may be gone, and was dropped: decide
 *   again.
 */
export type CommitResult = "appended" | "moved" | "refolded";

export interface Start {
  readonly state: TaskState;
  readonly chain: Uint8Array;
  readonly revision: number;
}

export interface JournalClaim {
  readonly lease: Lease;
  readonly fence: number;
  /** The inbox's last seq at the claim. */
  readonly inboxSeq: number;
  readonly refold: () => Promise<Start>;
}

interface Pending {
  readonly event: Event;
  /** Its JSON text. */
  readonly body: string;
  readonly group: Group;
}

type Ports = Pick<RunnerPorts, "store" | "hasher" | "random" | "clock" | "limits">;

export class Journal {
  state: TaskState;
  revision: number;
  /** The inbox's last seq, as far as the claim or the newest commit told. */
  inboxSeq: number;
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
  #pending: Pending[] = [];
  #rows: Row[] = [];
  #taken: number | undefined;
  /** The row as the newest commit left it. A claim's first commit writes all of it, whoever wrote it before. */
  #columns: TaskColumns | undefined;
  #definitions: Definition[] = [];
  #failed: FoldFailed | undefined;

  constructor(ports: Ports, reducers: Reducers, claim: JournalClaim, start: Start) {
    this.#ports = ports;
    this.#reducers = reducers;
    this.#lease = claim.lease;
    this.#fence = claim.fence;
    this.#refold = claim.refold;
    this.#chain = start.chain;
    this.#seq = start.state.seq;
    this.state = start.state;
    this.revision = start.revision;
    this.inboxSeq = claim.inboxSeq;
  }

  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** An InputTaken is pending: its items are not consumed yet. */
  get hasTaken(): boolean {
    return this.#taken !== undefined;
  }

  /** The last seq that is certainly in the log. */
  get committedSeq(): number {
    return this.#seq;
  }

  get chain(): Uint8Array {
    return this.#chain;
  }

  /**
   * Folds events into the state, to be appended by the next commit. Throws CodecError, and folds nothing, if one of them
   * cannot be written; FoldFailed if one does not fold, and then takes nothing more.
   */
  add(...events: readonly Event[]): void {
    this.#push({ events, derived: false, quotes: null });
  }

  /** The same for what is made from the conversation, and is made again if that is redacted before the next commit. */
  addDerived(...events: readonly Event[]): void {
    this.#push({ events, derived: true, quotes: null });
  }

  /**
   * The same for what a plugin made: the outcome of a call, or (null) a hook's records. Returns them as they were folded: none
   * where the call runs again instead, since what it was made of may be gone.
   */
  addMade({ quotes }: Made, callId: string | null, events: readonly Event[]): readonly Event[] {
    const group: Group = { events, derived: false, quotes, ...(callId === null ? {} : { callId }) };
    const isFresh = quotes === null || quotes === this.revision;
    return this.#push(isFresh ? group : { ...group, events: outliving(group, this.state) });
  }

  #push(group: Group): readonly Event[] {
    const written = withoutTaint(this.state, group.events);
    const pending = written.map((event): Pending => ({ event, body: encodeEvent(event), group }));
    for (const { event } of pending) this.#fold(this.state, event, this.#rows);
    this.#pending.push(...pending);
    return written;
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
      // What was folded half is not to be built on, whoever catches this.
      this.#failed = new FoldFailed(`task ${state.taskId}: ${event.type} does not fold: ${String(cause)}`, { cause });
      throw this.#failed;
    }
    if (event.type === "InputTaken") this.#taken = event.through;
  }

  /**
   * Appends what is pending, all or nothing. Throws ClaimLost when another holds the task, and StoreError `unavailable`
   * when the store could not be reached for `storeRetryMs`.
   */
  async commit(options: CommitOptions = {}): Promise<CommitResult> {
    const { final } = options;
    if (this.#failed !== undefined) throw this.#failed;
    const state = final === undefined ? this.state : branchOf(this.state);
    const rows = [...this.#rows];
    for (const event of final?.events ?? []) this.#fold(state, event, rows);
    const ends = (final?.events ?? []).map((event) => ({ event, body: encodeEvent(event) }));
    const events = [...this.#pending, ...ends].map(({ event: { type }, body }) => ({ type, body }));
    if (events.length === 0) throw new Error(`task ${state.taskId}: a commit with nothing to append`);
    const after = { seq: this.#seq, chain: this.#chain };
    const drafts = sealEncoded(this.#ports.hasher, after, events, () => this.#ports.random.salt());
    const columns = columnsOf(state);
    const receipt = await this.#append({
      taskId: state.taskId,
      fence: this.#fence,
      revision: this.revision,
      drafts,
      columns: changedColumns(this.#columns, columns),
      rows: mergeRows(rows),
      ...(this.#taken === undefined ? {} : { taken: this.#taken }),
      ...(final === undefined ? {} : { inboxSeen: final.inboxSeen }),
      ...(options.posts === undefined ? {} : { posts: options.posts }),
      ...(options.epoch === undefined ? {} : { epoch: options.epoch }),
      ...(this.#definitions.length === 0 ? {} : { definitions: this.#definitions }),
    });
    if (receipt === "moved") return "moved";
    if (receipt === "redacted") {
      await this.#foldAnew();
      return "refolded";
    }
    this.#committed(state, drafts, receipt);
    this.#columns = columns;
    return "appended";
  }

  /** Commits until nothing is pending, also what outlives a redaction. */
  async commitAll(): Promise<void> {
    while (this.hasPending) await this.commit();
  }

  async #foldAnew(): Promise<void> {
    const { state, chain, revision } = await untilAnswered(this.#ports, this.#lease.lost, this.#refold);
    const groups = new Set(this.#pending.map(({ group }) => group));
    this.state = state;
    this.revision = revision;
    this.#seq = state.seq;
    this.#chain = chain;
    this.#pending = [];
    this.#rows = [];
    this.#taken = undefined;
    this.#definitions = [];
    for (const group of groups) this.add(...outliving(group, state));
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
  #append(params: AppendParams): Promise<AppendReceipt | "moved" | "redacted"> {
    return untilAnswered(this.#ports, this.#lease.lost, async () => {
      try {
        return await this.#ports.store.append(params);
      } catch (error) {
        return await this.#judge(params, error);
      }
    });
  }

  async #judge(params: AppendParams, error: unknown): Promise<AppendReceipt | "moved" | "redacted"> {
    if (!(error instanceof StoreError)) throw error;
    switch (error.code) {
      case "inbox_moved":
        return "moved";
      case "redacted":
        return "redacted";
      case "conflict":
      case "ended":
        return this.#confirm(params, error);
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
