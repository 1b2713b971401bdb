import { describe, expect, it } from "vitest";
import type { InboxEntry, Store, TaskRow } from "../store/store.ts";
import { watchInbox } from "./inbox-watch.ts";

/** An inbox that answers when it is told to. */
const openInbox = (seen = 0) => {
  const entries: InboxEntry[] = [];
  let hold: Promise<void> | null = null;
  const asked = Promise.withResolvers<void>();
  let hint: (taskId: string | null) => void = () => undefined;
  const store: Pick<Store, "getTask" | "readInbox" | "subscribe"> = {
    getTask: async () => ({ inboxSeq: entries.at(-1)?.seq ?? 0 }) as TaskRow,
    readInbox: async () => {
      const answer = entries.slice();
      asked.resolve();
      await hold;
      return answer;
    },
    subscribe: (given) => {
      hint = given;
      return () => undefined;
    },
  };
  const watch = watchInbox(store, { taskId: "task", fence: 1 }, { claimedAt: 0, seenSeq: seen });
  return {
    watch,
    put: (seq: number, body: object): void => {
      entries.push({ seq, at: 0, by: "person:ada", key: String(seq), body: JSON.stringify(body) });
    },
    hint: (taskId: string | null): void => hint(taskId),
    /** Answers wait from now on; gives how to let them go. */
    holdAnswers: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      hold = promise;
      return resolve;
    },
    /** Once it was read. */
    asked: asked.promise,
  };
};

describe("a watched inbox", () => {
  it("aborts the control signal for an interrupt or a cancel, and the news signal for anything", async () => {
    const { watch, put } = openInbox();
    put(1, { type: "Say", text: "hello" });
    await watch.look();
    expect([watch.news.aborted, watch.control.aborted, watch.seenSeq]).toEqual([true, false, 1]);
    put(2, { type: "Cancel" });
    await watch.look();
    expect(watch.control.aborted).toBe(true);
  });

  it("has new signals once everything was taken", async () => {
    const { watch, put } = openInbox();
    put(1, { type: "Interrupt" });
    await watch.look();
    watch.took(1);
    expect([watch.news.aborted, watch.control.aborted]).toEqual([false, false]);
    await watch.look();
    expect([watch.news.aborted, watch.control.aborted]).toEqual([false, false]);
  });

  it("aborts nothing for what was taken while it looked", async () => {
    const { watch, put, holdAnswers, asked } = openInbox();
    put(1, { type: "Interrupt" });
    const answer = holdAnswers();
    const looking = watch.look();
    await asked;
    watch.took(1);
    answer();
    await looking;
    expect([watch.news.aborted, watch.control.aborted]).toEqual([false, false]);
  });

  it("looks again for what came while it looked", async () => {
    const { watch, put, holdAnswers, asked } = openInbox();
    put(1, { type: "Say", text: "hello" });
    const answer = holdAnswers();
    const looking = watch.look();
    await asked;
    put(2, { type: "Interrupt" });
    const again = watch.look();
    answer();
    await Promise.all([looking, again]);
    expect([watch.control.aborted, watch.seenSeq]).toEqual([true, 2]);
  });

  it("looks at a hint of its own task or of any, and not at those of others", async () => {
    const { watch, put, hint } = openInbox();
    put(1, { type: "Say", text: "hello" });
    hint("other");
    await Promise.resolve();
    expect(watch.seenSeq).toBe(0);
    hint(null);
    await watch.look();
    expect(watch.seenSeq).toBe(1);
  });

  it("takes what it cannot read for no interrupt: whoever takes it says what is wrong", async () => {
    const { watch, put } = openInbox();
    put(1, { type: "Interrupt", until: "noon" });
    await watch.look();
    expect([watch.control.aborted, watch.news.aborted]).toEqual([false, true]);
  });
});
