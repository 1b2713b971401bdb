// Following a log live, over any store: what is there, then what comes, each entry once and in order.
import type { Envelope, Hint } from "./store.ts";

export interface Page {
  /** In order, from the first after the seq that was asked for; empty when there is none yet. */
  readonly entries: readonly Envelope[];
  /** The task has ended: nothing comes after these. */
  readonly ended: boolean;
}

export interface Followed {
  /** Entries after `after`, as many as fit a page. */
  page(after: number): Page | Promise<Page>;
  /** Calls `hint` when something may have changed. Returns how to stop. */
  subscribe(hint: Hint): () => void;
}

/** Ends after the last entry of an ended task, or when stopped. Throws what `page` throws. */
export async function* followPages(
  { page, subscribe }: Followed,
  { taskId, after: from = 0 }: { readonly taskId: string; readonly after?: number },
  stop: AbortSignal,
): AsyncGenerator<Envelope, void, undefined> {
  let after = from;
  let moved = Promise.withResolvers<undefined>();
  const go = (): void => moved.resolve(undefined);
  const unsubscribe = subscribe((id) => {
    if (id === null || id === taskId) go();
  });
  stop.addEventListener("abort", go);
  try {
    while (!stop.aborted) {
      // Made before the log is read, so that no change falls in between.
      moved = Promise.withResolvers();
      const { entries, ended } = await page(after);
      for (const entry of entries) {
        if (stop.aborted) return;
        after = entry.seq;
        yield entry;
      }
      if (entries.length > 0) continue;
      if (ended) return;
      if (!stop.aborted) await moved.promise;
    }
  } finally {
    unsubscribe();
    stop.removeEventListener("abort", go);
  }
}
