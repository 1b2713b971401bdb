// Puts an item into a task's inbox. What the task's state would pass over in silence is refused here, with the reason.
import type { Recorded } from "../core/events.ts";
import { fold } from "../core/fold.ts";
import type { NewItem } from "../core/items.ts";
import type { PostReceipt } from "../store/store.ts";
import { attachFiles, type Attachment } from "./attach.ts";
import { ClientError, type Client } from "./client.ts";
import { findTask } from "./find-task.ts";
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

const wasTaken = (events: readonly Recorded[], by: string, key: string): boolean =>
  events.some(
    ({ event }) => event.type === "InputTaken" && event.items.some((item) => item.key === key && item.by === by),
  );

/** Acknowledged means committed. Codes: `not_found`, `ambiguous`, `refused`, and those of the store's `post`. */
export const post = async (client: Client, params: PostParams): Promise<PostReceipt> => {
  const { taskId } = await findTask(client, params.taskId);
  const { item, key = client.random.id(), files = [] } = params;
  if (key.startsWith(KERNEL_KEYS))
    throw new ClientError("refused", `task ${taskId}: keys that begin with ${KERNEL_KEYS} are the kernel's own`);
  const events = await readEvents(client.store, { taskId });
  const refusal = refusalOf(fold(taskId, events, {}), events, item);
  // A repeated post gets the first one's receipt, whatever became of the task since.
  if (refusal !== null && !wasTaken(events, client.principal, key))
    throw new ClientError("refused", `task ${taskId} ${refusal}`);
  if (item.type !== "Say" || files.length === 0) return client.store.post({ taskId, by: client.principal, key, item });
  const attached = await attachFiles(client.store, { taskId, key, files });
  return client.store.post({ taskId, by: client.principal, key, item: { ...item, files: attached } });
};
