// Puts an item into a task's inbox. What the task's state would pass over in silence is refused here, with the reason.
import type { Recorded } from "../core/events.ts";
import { fold } from "../core/fold.ts";
import type { ItemType, NewItem } from "../core/items.ts";
import { isRunning, type TaskState } from "../core/state.ts";
import { StoreError, type Post, type PostReceipt } from "../store/store.ts";
import { requireAccess } from "./ask-access.ts";
import { attachFiles, type Attachment } from "./attach.ts";
import { ClientError, type Client } from "./client.ts";
import { findToPost, moveKey, peopleRefusal } from "./people.ts";
import { readEvents } from "./read-log.ts";
import { refusalOf } from "./refusal.ts";

export interface PostParams {
  readonly taskId: string;
  readonly item: NewItem;
  /** Unique per task; a second post with it gives the first one's receipt. Made when absent. */
  readonly key?: string;
  /** For a `Say`: files that come with it. */
  readonly files?: readonly Attachment[];
}

/** Keys that the kernel makes itself: nobody else's post may stand in the way of a timer or of a child's end. */
const KERNEL_KEYS = "core:";

/** Items that the kernel alone posts: nobody says for it that a time has come or that a child has ended. */
const kernelItems: ReadonlySet<ItemType> = new Set<ItemType>(["ChildEnded", "TimerFired"]);

const wasTaken = (events: readonly Recorded[], by: string, key: string): boolean =>
  events.some(
    ({ event }) => event.type === "InputTaken" && event.items.some((item) => item.key === key && item.by === by),
  );

/** What a store answers about the task or the key; anything else leaves it open whether the item was saved. */
const answers: readonly StoreError["code"][] = ["not_found", "forgotten", "ended", "conflict"];

/**
 * A correction that could not be saved is not accepted, and a worker of this process pauses the turn before it dispatches
 * anything more; a later one that is saved lets it go on.
 */
const postSteer = async ({ store, corrections }: Client, params: Post, runs: boolean): Promise<PostReceipt> => {
  const { taskId } = params;
  try {
    const receipt = await store.post(params);
    corrections?.settled(taskId);
    return receipt;
  } catch (error) {
    if (error instanceof StoreError && answers.includes(error.code)) throw error;
    if (runs) corrections?.unsaved(taskId);
    const why = error instanceof Error ? error.message : String(error);
    const message = `task ${taskId}: the correction is not accepted, for it could not be saved (${why}); send it again`;
    throw new StoreError("unavailable", message, { cause: error });
  }
};

const beingMoved = (taskId: string, options?: ErrorOptions): ClientError =>
  new ClientError("refused", `task ${taskId} is being moved to another place already`, options);

/** Of two moves from the same place the first is the one. */
const postMove = async ({ store }: Client, params: Post): Promise<PostReceipt> => {
  const { taskId } = params;
  try {
    const receipt = await store.post(params);
    // It may be another's, to somewhere else.
    if (receipt.unproven === true) throw beingMoved(taskId);
    return receipt;
  } catch (cause) {
    if (!(cause instanceof StoreError) || cause.code !== "conflict") throw cause;
    throw beingMoved(taskId, { cause });
  }
};

const send = (client: Client, state: TaskState, params: Post): Promise<PostReceipt> => {
  if (params.item.type === "Steer") return postSteer(client, params, isRunning(state));
  return params.item.type === "Handoff" ? postMove(client, params) : client.store.post(params);
};

/**
 * Acknowledged means committed. A move has a key of its own. Codes: `not_found`, `ambiguous`, `refused`, and those of the
 * store's `post`.
 */
export const post = async (client: Client, params: PostParams): Promise<PostReceipt> => {
  const { item, files = [] } = params;
  await requireAccess(client, "act");
  const { taskId } = await findToPost(client, params.taskId, item);
  if (kernelItems.has(item.type))
    throw new ClientError("refused", `task ${taskId}: ${item.type} is the kernel's own, and posted by nobody else`);
  const given = params.key ?? client.random.id();
  if (given.startsWith(KERNEL_KEYS))
    throw new ClientError("refused", `task ${taskId}: keys that begin with ${KERNEL_KEYS} are the kernel's own`);
  const events = await readEvents(client.store, { taskId });
  const state = fold(taskId, events, {});
  const refusal = refusalOf(state, events, item) ?? (await peopleRefusal(client, state, item));
  const key = item.type === "Handoff" ? moveKey(events) : given;
  // A repeated post gets the first one's receipt, whatever became of the task since.
  if (refusal !== null && !wasTaken(events, client.principal, key))
    throw new ClientError("refused", `task ${taskId} ${refusal}`);
  const posted = { taskId, by: client.principal, key, place: client.place };
  if (item.type !== "Say" || files.length === 0) return send(client, state, { ...posted, item });
  const attached = await attachFiles(client.store, { taskId, key, files });
  return send(client, state, { ...posted, item: { ...item, files: attached } });
};
