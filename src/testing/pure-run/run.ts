// One task under way in a pure run: its state and log, and what only its present claim knows.
import { decodeEvent, encodeEvent } from "../../core/codec.ts";
import type { Facts, Settled } from "../../core/decide.ts";
import type { Event, Recorded } from "../../core/events.ts";
import type { Item } from "../../core/items.ts";
import { applyAndProject, type Row } from "../../core/project.ts";
import { isRunning, type Reducers, type TaskState } from "../../core/state.ts";
import { finished } from "../given.ts";
import type { Choices } from "./choices.ts";

export interface PureRun {
  readonly choices: Choices;
  readonly reducers: Reducers;
  readonly log: Recorded[];
  readonly rows: Row[];
  state: TaskState;
  inbox: Item[];
  inboxSeq: number;
  now: number;
  context: Facts["context"];
  goals: Facts["goals"];
  readonly announced: Set<string>;
  readonly unverified: Set<string>;
  stoppedMidTurn: Facts["stoppedMidTurn"];
}

/** Appends an event as a store gives it back. */
export const append = (run: PureRun, event: Event): void => {
  const recorded = { seq: run.state.seq + 1, at: run.now, event: decodeEvent(event.type, encodeEvent(event)) };
  run.rows.push(...applyAndProject(run.state, recorded, run.reducers));
  run.log.push(recorded);
};

export const post = (run: PureRun, item: Item): void => {
  run.inboxSeq = item.seq;
  run.inbox.push(item);
};

/** Another worker takes over: all that only this claim knew is gone. */
export const takeOver = (run: PureRun): void => {
  run.announced.clear();
  run.unverified.clear();
  run.context = "fits";
  const midTurn = isRunning(run.state) && run.state.waiting === undefined;
  run.stoppedMidTurn = midTurn ? run.choices.of(["crashed", "stopped", "crashed", "restored"]) : null;
};

const settledStatus = { skipped: "skipped", interrupted: "error", denied: "denied", no_such_tool: "error" } as const;

export const settle = (run: PureRun, settled: readonly Settled[]): void => {
  for (const { callId, as } of settled) {
    const arrival = run.state.calls.find((call) => call.id === callId)?.arrival;
    const status = as === "arrived" ? (arrival?.status ?? "ok") : settledStatus[as];
    run.announced.delete(callId);
    append(run, finished(callId, arrival?.content ?? as, { status }));
  }
};
