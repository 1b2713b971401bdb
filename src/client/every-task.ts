// All tasks of a store, whoever owns them: for an operator's checks and counts, which show no content.
import type { Store, TaskRow } from "../store/store.ts";

const PAGE = 200;

/** Newest first. A task created meanwhile may be missed. */
export async function* everyTask(store: Pick<Store, "listTasks">): AsyncGenerator<TaskRow, void, undefined> {
  let after: string | undefined;
  for (;;) {
    const page = await store.listTasks({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    yield* page;
    after = page.at(-1)?.taskId;
    if (after === undefined || page.length < PAGE) return;
  }
}
