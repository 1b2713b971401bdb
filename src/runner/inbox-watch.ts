// Looks at the inbox while a step is under way: a person's interrupt or cancel aborts the step, anything else ends a pause.
import { decodeItem } from "../core/codec.ts";
import type { Store } from "../store/store.ts";

export interface InboxWatch {
  /** This process's monotonic time at the claim (ms). */
  readonly claimedAt: number;
  /** Aborted when the inbox holds an untaken Interrupt or Cancel. A new signal after each take. */
  readonly control: AbortSignal;
  /** Aborted when the inbox holds anything untaken. A new signal after each take. */
  readonly news: AbortSignal;
  /** The inbox seq up to which this claim has looked. */
  readonly seenSeq: number;
  /** Everything up to `through` was taken: from now on only later items count. */
  took(through: number): void;
  /** Looks now. */
  look(): Promise<void>;
  close(): void;
}

const isControl = (body: string): boolean => {
  try {
    const { type } = decodeItem(body);
    return type === "Interrupt" || type === "Cancel";
  } catch {
    return false; // Whoever takes it says what is wrong with it.
  }
};

export const watchInbox = (
  store: Pick<Store, "getTask" | "readInbox" | "subscribe">,
  claim: { readonly taskId: string; readonly fence: number },
  from: { readonly claimedAt: number; readonly seenSeq: number },
): InboxWatch => {
  let control = new AbortController();
  let news = new AbortController();
  let seenSeq = from.seenSeq;
  let takenSeq = from.seenSeq;
  let looking: Promise<void> | null = null;
  let again = false;

  const lookOnce = async (): Promise<void> => {
    const row = await store.getTask({ taskId: claim.taskId });
    if (row === null || row.inboxSeq <= seenSeq) return;
    const entries = await store.readInbox(claim);
    seenSeq = Math.max(seenSeq, entries.at(-1)?.seq ?? 0);
    // What was taken while this looked has had its say.
    const untaken = entries.filter((entry) => entry.seq > takenSeq);
    if (untaken.length > 0) news.abort(new Error("news"));
    if (untaken.some((entry) => isControl(entry.body))) control.abort(new Error("interrupted"));
  };
  const look = async (): Promise<void> => {
    again = true;
    looking ??= (async () => {
      while (again) {
        again = false;
        await lookOnce();
      }
    })().finally(() => {
      looking = null;
    });
    await looking;
  };
  const unsubscribe = store.subscribe((taskId, only) => {
    // A log that grows is this claim's own doing.
    if (only === "log" || (taskId !== null && taskId !== claim.taskId)) return;
    // A look that fails is made up for by the next one, and by the take between steps.
    look().catch(() => undefined);
  });

  return {
    claimedAt: from.claimedAt,
    get control() {
      return control.signal;
    },
    get news() {
      return news.signal;
    },
    get seenSeq() {
      return seenSeq;
    },
    took: (through) => {
      takenSeq = Math.max(takenSeq, through);
      seenSeq = Math.max(seenSeq, through);
      if (control.signal.aborted) control = new AbortController();
      if (news.signal.aborted) news = new AbortController();
    },
    look,
    close: unsubscribe,
  };
};
