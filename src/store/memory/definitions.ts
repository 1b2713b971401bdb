// Definitions, shared between tasks by hash. The first text of a hash stays.
import type { Definition } from "../store.ts";
import type { State, StoredTask } from "./state.ts";

export const storeDefinitions = (state: State, task: StoredTask, definitions: readonly Definition[]): void => {
  for (const { hash, text } of definitions) {
    task.definitions.add(hash);
    if (!state.definitions.has(hash)) state.definitions.set(hash, text);
  }
};

export const getDefinitions = (state: State, hashes: Iterable<string>): Definition[] =>
  [...hashes].flatMap((hash) => {
    const text = state.definitions.get(hash);
    return text === undefined ? [] : [{ hash, text }];
  });
