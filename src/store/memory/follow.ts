// Following a log live: hints come from the state itself.
import { followPages } from "../follow.ts";
import type { Envelope } from "../store.ts";
import { read } from "./log.ts";
import { findTask, type State } from "./state.ts";

export const follow = (
  state: State,
  params: { readonly taskId: string; readonly after?: number },
  stop: AbortSignal,
): AsyncGenerator<Envelope, void, undefined> =>
  followPages(
    {
      page: (after) => ({
        entries: read(state, { taskId: params.taskId, after }),
        ended: findTask(state, params.taskId).ended,
      }),
      subscribe: (hint) => {
        state.hints.add(hint);
        return () => {
          state.hints.delete(hint);
        };
      },
    },
    params,
    stop,
  );
