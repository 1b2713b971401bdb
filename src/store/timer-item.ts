// The item that a due timer becomes when it is moved into the inbox: the same key in every adapter, so it fires once.
import type { Post } from "./store.ts";

export const timerItem = (timerId: string, dueAt: number): Omit<Post, "taskId"> => ({
  by: "core",
  key: `core:timer:${timerId}:${String(dueAt)}`,
  item: { type: "TimerFired", timerId, dueAt },
});
