// Following a log live. Nothing is awaited between reading and beginning to wait, so no event falls in between.
import type { Envelope } from "../store.ts";
import { read } from "./log.ts";
import { findTask, type State } from "./state.ts";

/** Resolves at the next change of the task, or when stopped. */
const nextChange = async (state: State, taskId: string, stop: AbortSignal): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const finish = (): void => resolve(undefined);
  const hint = (changedId: string | null): void => {
    if (changedId === null || changedId === taskId) finish();
  };
  state.hints.add(hint);
  stop.addEventListener("abort", finish, { once: true });
  await promise;
  state.hints.delete(hint);
  stop.removeEventListener("abort", finish);
};

export async function* follow(
  state: State,
  params: { readonly taskId: string; readonly after?: number },
  stop: AbortSignal,
): AsyncGenerator<Envelope, void, undefined> {
  const { taskId } = params;
  let after = params.after ?? 0;
  while (!stop.aborted) {
    const entries = read(state, { taskId, after });
    for (const entry of entries) {
      if (stop.aborted) return;
      after = entry.seq;
      yield entry;
    }
    if (entries.length > 0) continue;
    if (findTask(state, taskId).ended) return;
    await nextChange(state, taskId, stop);
  }
}
