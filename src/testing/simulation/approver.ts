// The people who decide on what a simulated task asks: from two front ends at once, under old controls, in others' names.
import type { NewItem } from "../../core/items.ts";
import { DecisionRefused, StoreError, type PostReceipt } from "../../store/store.ts";
import { decisionOn, pendingRequests, type Decision, type PendingRequest } from "../decide.ts";
import type { DecideHow } from "./seed-plan.ts";
import { OWNER, type SimulatedSystem } from "./system.ts";

export const STRANGER = "person:eve";

/** What a person sent that must not have been taken. */
const never: readonly DecideHow[] = ["stale", "changed", "stranger"];

export class Approver {
  /** Inbox seqs of decisions that were taken. */
  readonly accepted: number[] = [];
  /** What the store took and should not have, or refused without a reason of its own. */
  readonly faults: string[] = [];
  readonly met = new Map<string, number>();
  readonly #system: SimulatedSystem;
  readonly #taskId: string;
  #posts = 0;

  constructor(system: SimulatedSystem, taskId: string) {
    this.#system = system;
    this.#taskId = taskId;
  }

  pending(): Promise<PendingRequest[]> {
    return pendingRequests(this.#system.store, this.#taskId);
  }

  #count(what: string): void {
    this.met.set(what, (this.met.get(what) ?? 0) + 1);
  }

  /** Null where it was refused. */
  async #post(item: NewItem, by: string): Promise<PostReceipt | null> {
    this.#posts += 1;
    const key = `decision ${String(this.#posts)}`;
    try {
      return await this.#system.store.post({ taskId: this.#taskId, by, key, item });
    } catch (error) {
      if (error instanceof DecisionRefused) this.#count(`decision refused: ${error.refusal}`);
      else if (!(error instanceof StoreError) || error.code !== "ended") throw error;
      return null;
    }
  }

  /** Puts up controls for a front end; 0 where there is nothing to decide any more. */
  async #show(requestId: string, frontEnd: string): Promise<number> {
    try {
      return await this.#system.store.showApproval({ taskId: this.#taskId, requestId, frontEnd });
    } catch (error) {
      if (error instanceof StoreError) return 0;
      throw error;
    }
  }

  async #send(request: PendingRequest, how: DecideHow, more: Partial<Decision>): Promise<PostReceipt | null> {
    const by = how === "stranger" ? STRANGER : OWNER;
    const item = decisionOn(request, more.decision ?? "approve", more);
    const receipt = await this.#post(item, by);
    if (receipt === null) return null;
    if (receipt.decided === undefined) this.accepted.push(receipt.seq);
    else this.#count("decision came second");
    if (never.includes(how) && receipt.decided === undefined) {
      this.faults.push(`a ${how} decision on ${request.requestId} was acknowledged`);
    }
    return receipt;
  }

  /** Two front ends at once, one of which says no: one counts, and the other is told which. */
  async #both(request: PendingRequest): Promise<void> {
    const [here, there] = [await this.#show(request.requestId, "here"), await this.#show(request.requestId, "there")];
    if (here === 0 || there === 0) return;
    const says = [
      { decision: "approve", showing: here },
      { decision: "deny", showing: there },
    ] as const;
    const inOrder = this.#system.chance.below(2) === 0 ? says : says.toReversed();
    const both = await Promise.all(inOrder.map((each) => this.#send(request, "both", each)));
    const counted = both.filter((receipt) => receipt !== null && receipt.decided === undefined);
    if (counted.length > 1) this.faults.push(`two decisions on ${request.requestId} were acknowledged as the first`);
  }

  async decide(request: PendingRequest, how: DecideHow): Promise<void> {
    this.#count(`decide: ${how}`);
    if (how === "both") return this.#both(request);
    if (how === "stale") {
      const old = await this.#show(request.requestId, "here");
      const newer = await this.#show(request.requestId, "here");
      if (old !== 0 && newer !== 0) await this.#send(request, how, { showing: old });
      return;
    }
    const more = {
      ...(how === "changed" ? { inputHash: `${request.inputHash} not` } : {}),
      ...(how === "correct" ? { input: { value: `corrected ${String(this.#posts)}` } } : {}),
    };
    await this.#send(request, how, more);
  }
}
