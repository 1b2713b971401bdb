// What people decide in tests: requests as the store has them, and items that name them.
import type { ItemOf } from "../core/items.ts";
import type { Store } from "../store/store.ts";

export type Decision = Omit<ItemOf<"Decide">, "seq" | "at" | "by" | "key">;

export interface PendingRequest {
  readonly requestId: string;
  readonly callId: string;
  readonly inputHash: string;
  readonly decides: string;
}

/** In the order of their calls' ids. */
export const pendingRequests = async (store: Store, taskId: string): Promise<PendingRequest[]> => {
  const rows = await store.readRows({ taskId, table: "approvals" });
  return rows.flatMap(({ key, set }) => {
    if (set?.["status"] !== "pending") return [];
    const { callId, inputHash, decides } = set as Record<string, string>;
    return [{ requestId: key, callId: callId ?? "", inputHash: inputHash ?? "", decides: decides ?? "" }];
  });
};

/** Decides without having been shown a control. */
export const decisionOn = (
  { requestId, inputHash }: Pick<PendingRequest, "requestId" | "inputHash">,
  decision: Decision["decision"],
  more: Partial<Decision> = {},
): Decision => ({ type: "Decide", requestId, inputHash, showing: 0, decision, ...more });
