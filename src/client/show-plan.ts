// A task's plan, goals and notes as its owner sees them: the rows point to the newest record of each, which has the words.
import type { EventOf, Recorded } from "../core/events.ts";
import type { Row } from "../core/project.ts";
import type { Client } from "./client.ts";
import { findTask } from "./find-task.ts";
import { readEvents } from "./read-log.ts";

/** Words are null where they were redacted. `seq` is that of the record that they stand in. */
export interface PlanView {
  /** Null while there is no plan. */
  readonly plan: {
    readonly version: number;
    readonly seq: number;
    readonly steps: readonly { readonly id: string; readonly status: string; readonly text: string | null }[];
  } | null;
  readonly goals: readonly {
    readonly id: string;
    readonly status: string;
    readonly text: string | null;
    readonly reason: string | null;
    readonly seq: number;
  }[];
  readonly notes: readonly { readonly id: string; readonly text: string | null; readonly seq: number }[];
}

type Data = Readonly<Record<string, unknown>>;

const wordsOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

const dataAt = (events: readonly Recorded[], seq: number): Data => {
  const event = events[seq - 1]?.event as EventOf<"ExtensionRecorded"> | undefined;
  return typeof event?.data === "object" && event.data !== null ? (event.data as Data) : {};
};

const seqOf = (row: Row): number => Number(row.set?.["seq"]);

/** g2 before g10. */
const byNumber = (a: Row, b: Row): number => Number(a.key.slice(1)) - Number(b.key.slice(1));

const planOf = (events: readonly Recorded[], row: Row | undefined): PlanView["plan"] => {
  if (row === undefined) return null;
  const { steps = [], texts = [] } = dataAt(events, seqOf(row)) as {
    readonly steps?: readonly { readonly id: string; readonly status: string }[];
    readonly texts?: readonly string[];
  };
  return {
    version: Number(row.set?.["version"]),
    seq: seqOf(row),
    steps: steps.map(({ id, status }, index) => ({ id, status, text: wordsOf(texts[index]) })),
  };
};

/** The plan as rows and log give it. `events` are the log from its start. */
export const planView = (events: readonly Recorded[], rows: readonly Row[]): PlanView => {
  const of = (table: Row["table"]): Row[] => rows.filter((row) => row.table === table).sort(byNumber);
  return {
    plan: planOf(events, of("plans")[0]),
    goals: of("goals").map((row) => {
      const { text, reason } = dataAt(events, seqOf(row));
      const status = String(row.set?.["status"]);
      return { id: row.key, status, text: wordsOf(text), reason: wordsOf(reason), seq: seqOf(row) };
    }),
    notes: of("notes").map((row) => ({
      id: row.key,
      text: wordsOf(dataAt(events, seqOf(row))["text"]),
      seq: seqOf(row),
    })),
  };
};

/** Codes: `not_found`, `ambiguous`, `unreadable`. */
export const showPlan = async (client: Client, idOrPrefix: string): Promise<PlanView> => {
  const { taskId } = await findTask(client, idOrPrefix);
  const rows = await client.store.readRows({ taskId });
  return planView(await readEvents(client.store, { taskId }), rows);
};
