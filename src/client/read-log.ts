// A task's log as events, and the state that it folds to as far as a front end looks at it.
import { CodecError, decodeEvent } from "../core/codec.ts";
import type { Recorded } from "../core/events.ts";
import { fold } from "../core/fold.ts";
import type { TaskState } from "../core/state.ts";
import type { Entry, Store } from "../store/store.ts";
import { ClientError, type Client } from "./client.ts";
import { findTask } from "./find-task.ts";

const decode = (taskId: string, { seq, at, type, body }: Entry): Recorded => {
  try {
    return { seq, at, event: decodeEvent(type, body) };
  } catch (cause) {
    if (!(cause instanceof CodecError)) throw cause;
    throw new ClientError("unreadable", `event ${String(seq)} of task ${taskId} cannot be read: ${cause.message}`, {
      cause,
    });
  }
};

/** An event of the log, and its time (ms). */
export interface At {
  readonly seq: number;
  readonly at: number;
}

export const placeOf = ({ seq, at }: Recorded): At => ({ seq, at });

/** Throws `unreadable`, naming the seq. */
export const eventsOf = (taskId: string, entries: readonly Entry[]): Recorded[] =>
  entries.map((entry) => decode(taskId, entry));

/** Events with `after` < seq <= `through`, in order. Throws `unreadable`, naming the seq. */
export const readEvents = async (
  store: Pick<Store, "read">,
  params: { readonly taskId: string; readonly after?: number; readonly through?: number },
): Promise<Recorded[]> => eventsOf(params.taskId, await store.read(params));

/** The state up to `through`, without what plugins keep: a front end needs none of their reducers. */
export const loadState = async (store: Pick<Store, "read">, taskId: string, through?: number): Promise<TaskState> => {
  const events = await readEvents(store, { taskId, ...(through === undefined ? {} : { through }) });
  return fold(taskId, events, {});
};

/** The events of the asker's task after `after`. */
export const readLog = async (client: Client, idOrPrefix: string, after = 0): Promise<Recorded[]> => {
  const { taskId } = await findTask(client, idOrPrefix);
  return readEvents(client.store, { taskId, after });
};

/** The task lives elsewhere now, as this event of its log began. */
const movedAway = async ({ store, place }: Client, taskId: string, { event }: Recorded): Promise<boolean> => {
  const moves = event.type === "ExtensionRecorded" && event.extension === "core" && event.kind === "handoff";
  return moves && (await store.getTask({ taskId }))?.origin.place !== place;
};

/**
 * Events after `after` as they are committed, until TaskEnded or `signal`; or until the task moves away, for from then on it
 * is found in its new place alone.
 */
export async function* followLog(
  client: Client,
  params: { readonly taskId: string; readonly after: number; readonly signal: AbortSignal },
): AsyncGenerator<Recorded, void, undefined> {
  const { taskId } = await findTask(client, params.taskId);
  for await (const entry of client.store.follow({ ...params, taskId })) {
    const recorded = decode(taskId, entry);
    yield recorded;
    if (await movedAway(client, taskId, recorded)) return;
  }
}
