// Creates a task together with its first words, so that no worker ever sees the one without the other.
import { sealEvents, FIRST_CHAIN } from "../core/envelope.ts";
import type { Event, Mode } from "../core/events.ts";
import { createState } from "../core/fold.ts";
import type { Settings } from "../core/items.ts";
import { columnsOf } from "../core/project.ts";
import type { CreateReceipt } from "../store/store.ts";
import { attachFiles, type Attachment } from "./attach.ts";
import { requireAccess } from "./ask-access.ts";
import type { Client } from "./client.ts";

export interface TaskRequest {
  readonly agent: string;
  readonly settings: Settings;
  /** Also the first thing said, word for word. */
  readonly objective: string;
  readonly mode: Mode;
  readonly onInterrupt: "continue" | "pause";
  /** Made when absent. */
  readonly taskId?: string;
  /** The front end's own thread, such as a channel's message; the task itself when absent. */
  readonly conversation?: string;
  readonly private?: boolean;
  /** Unique per principal and place: a second creation with it gives the first one's receipt. */
  readonly key?: string;
  /** Files that come with the objective. */
  readonly files?: readonly Attachment[];
}

/** The item that says the objective. Its key only has to differ from those of later items of the same task. */
const FIRST_KEY = "objective";

/** Codes: those of the store's `createTask`, `refused` (the place is closed to the asker). */
export const createTask = async (client: Client, request: TaskRequest): Promise<CreateReceipt> => {
  await requireAccess(client, "act");
  const { principal, frontEnd, place, random, hasher } = client;
  const { agent, settings, objective, mode, onInterrupt, taskId = random.id(), key, files = [] } = request;
  const created: Event = {
    type: "TaskCreated",
    agent,
    config: settings,
    objective,
    owner: principal,
    origin: { frontEnd, place, conversation: request.conversation ?? taskId, private: request.private ?? false },
    root: taskId,
    onInterrupt,
    mode,
  };
  const state = createState(taskId, { seq: 1, at: 0, event: created });
  const first = { by: principal, key: FIRST_KEY, item: { type: "Say", text: objective } } as const;
  const receipt = await client.store.createTask({
    task: {
      taskId,
      ...(key === undefined ? {} : { key }),
      secret: random.secret(),
      columns: columnsOf(state),
      rows: [],
    },
    drafts: sealEvents(hasher, { seq: 0, chain: FIRST_CHAIN }, [created], () => random.salt()),
    // Files need a task to belong to: then the first words follow them. A worker that comes before finds nothing said,
    // and waits for input.
    items: files.length === 0 ? [first] : [],
  });
  if (files.length === 0) return receipt;
  const { taskId: id } = receipt;
  const attached = await attachFiles(client.store, { taskId: id, key: FIRST_KEY, files });
  await client.store.post({ taskId: id, ...first, item: { ...first.item, files: attached } });
  return receipt;
};
