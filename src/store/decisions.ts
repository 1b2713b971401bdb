// The judgement of a Decide, the same in every adapter that can make it outside its database.
import type { ItemOf } from "../core/items.ts";
import { DecisionRefused, type DecisionRefusal } from "./store.ts";

export type Deciding = Pick<ItemOf<"Decide">, "requestId" | "inputHash" | "showing" | "decision">;

/** What the store knows of a request. `isShown`: the showing is the newest of some front end. */
export interface Asked {
  readonly status: string;
  readonly decides: string;
  readonly inputHash: string;
  readonly expiresAt: number | null;
}

const words: Readonly<Record<DecisionRefusal, string>> = {
  not_asked: "was not asked",
  not_yours: "is not for this principal to decide",
  settled: "waits for no decision any more",
  changed: "is about another input than the one that was decided on",
  expired: "has expired: nobody decided in time",
  stale: "has newer controls since; look at it again",
};

export const refused = (
  taskId: string,
  requestId: string,
  refusal: DecisionRefusal,
  state: string | null,
): DecisionRefused => {
  const told = refusal === "settled" && state !== null ? `: it is ${state}` : "";
  return new DecisionRefused(refusal, state, `task ${taskId}: request ${requestId} ${words[refusal]}${told}`);
};

/** Whether this principal may decide at all: one who may not is not told what was decided. */
export const mayDecide = (
  asked: Pick<Asked, "decides">,
  who: { readonly by: string; readonly owner: string; readonly isCollaborator: boolean },
): boolean => asked.decides === who.by && (who.by === who.owner || !who.isCollaborator);

/** Why a first decision cannot be taken; null when it can. */
export const refusalOf = (
  asked: Asked,
  deciding: Deciding,
  { now, isShown }: { readonly now: number; readonly isShown: boolean },
): DecisionRefusal | null => {
  if (asked.status !== "pending") return "settled";
  if (asked.inputHash !== deciding.inputHash) return "changed";
  if (asked.expiresAt !== null && asked.expiresAt <= now) return "expired";
  return deciding.showing === 0 || isShown ? null : "stale";
};

/** Showings of a later epoch are greater than any of an earlier one: a restore may have lost the newest of those. */
export const firstShowing = (epoch: number): number => (epoch - 1) * 1_000_000 + 1;
