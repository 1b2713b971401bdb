// What a golden log is made of: what a process runs, and what people do to the task. Run by scripts/golden-logs.ts, and
// by tests that go on from a cut of the log.
import type { Event } from "../../src/core/events.ts";
import type { Plugin } from "../../src/plugins/plugin.ts";
import * as log from "../../src/testing/given.ts";
import type { Code, Harness, HarnessOptions } from "../../src/testing/harness.ts";

/** For handlers that take time; the harness they run in is known only once they run. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

export interface Scenario {
  /** The log's file name. */
  readonly name: string;
  options(sleep: Sleep): Omit<HarnessOptions, "plan">;
  /** What happens to port calls while the log is made: crashes, and people who come at that very moment. */
  plan?(harness: () => Harness): HarnessOptions["plan"];
  /** Code that processes run from a seq of the log on. */
  readonly upgrade?: { readonly from: number; readonly code: Code };
  /** What people do, from a created task with no process on. */
  play(harness: Harness): Promise<void>;
}

/** The plugin records `noted` and counts them: state of a plugin's own, which a snapshot must carry. */
export const counting: Plugin = {
  name: "counting",
  version: "1",
  records: { counted: { v: 1, skeleton: ["by"] } },
  reducer: {
    initial: () => ({ count: 0, erased: 0 }),
    reduce: (state, record) => {
      const { count, erased } = state as { count: number; erased: number };
      if (record.extension === "core") return { count, erased: erased + 1 };
      return { count: count + (record.data as { by: number }).by, erased };
    },
  },
  hooks: {
    afterTool: ({ name }, _, view) => view.record({ kind: "counted", data: { by: 1, name } }),
  },
};

/** Starts a process and lets the task come to its first rest. */
export const startAndRest = async (harness: Harness): Promise<void> => {
  harness.start();
  await harness.rest();
};

/** Posts items one after the other, each once the task rests, and lets it rest again. */
export const postAndRest = async (
  harness: Harness,
  ...items: readonly Parameters<Harness["post"]>[0][]
): Promise<void> => {
  for (const item of items) {
    await harness.post(item);
    await harness.rest();
  }
};

/** Writes the task up to a reply that asks for one call, and what follows, as a process would have that is gone. */
export const writeAsked = (harness: Harness, name: string, ...then: readonly Event[]): Promise<void> => {
  const { system } = harness.agent.agent;
  return harness.write(
    log.core("prompts", { identity: "You are tested.", system, parts: [] }),
    log.core("plugins", {
      pins: [...harness.agent.pins],
      tools: [...harness.agent.tools.values()].map(({ entry }) => entry),
    }),
    { type: "InputTaken", items: [log.say("do it", { seq: 1, key: "objective" })], through: 1 },
    log.called(),
    log.replied([log.call(name)]),
    ...then,
  );
};
