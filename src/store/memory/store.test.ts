// Runs the contract suite on the memory store, and proves what memory does beyond it.
import { describe, expect, it } from "vitest";
import { plainSeal } from "../seal.ts";
import { storeContract } from "../store.contract.ts";
import type { Clock } from "../store.ts";
import { systemClock } from "../system-clock.ts";
import { beginEpoch } from "./restore.ts";
import { nowOf, openState } from "./state.ts";
import { storeOver } from "./store.ts";

/** Every text and every byte in a value. */
const wordsOf = (value: unknown): string => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (typeof value !== "object" || value === null) return String(value);
  const parts = value instanceof Map || value instanceof Set ? [...(value as Iterable<unknown>)] : Object.values(value);
  return parts.map(wordsOf).join("\n");
};

storeContract("the memory store", async ({ clock = systemClock(), seal = plainSeal }) => {
  const state = openState(clock, seal);
  const store = storeOver(state);
  const handles = [store];
  return {
    store,
    reopen: async () => {
      const handle = storeOver(state);
      handles.push(handle);
      return handle;
    },
    forget: async (taskId) => {
      state.tasks.delete(taskId);
      state.forgotten.add(taskId);
    },
    backup: async () => {
      const backupAt = nowOf(state);
      return async () => {
        beginEpoch(state, backupAt);
        return store;
      };
    },
    bytes: async () => Buffer.from(wordsOf(state)),
    dispose: async () => {
      for (const handle of handles) await handle.close();
    },
  };
});

describe("the memory store's clock", () => {
  it("goes on at the pace of the monotonic clock after the wall clock went back", () => {
    let [wall, monotonic] = [10_000, 500];
    const clock: Clock = { boot: "b", wall: () => wall, monotonic: () => monotonic };
    const state = openState(clock, plainSeal);
    expect(nowOf(state)).toBe(10_000);
    [wall, monotonic] = [4_000, 700];
    expect(nowOf(state)).toBe(10_200);
    [wall, monotonic] = [11_000, 900];
    expect(nowOf(state)).toBe(11_000);
    [wall, monotonic] = [11_001, 5];
    expect(nowOf(state)).toBe(11_001);
  });
});
