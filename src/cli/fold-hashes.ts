// What a log folds to, as hashes that two builds can compare: one for each part of the state, so that a difference has a name.
import { createHash } from "node:crypto";
import { CodecError } from "../core/codec.ts";
import type { TaskState } from "../core/state.ts";
import { foldEntries } from "../runner/fold-entries.ts";
import type { Entry } from "../store/store.ts";
import type { Agents } from "./agents.ts";

/** A log on its way to another build: one line of JSON. */
export interface FoldQuestion {
  readonly taskId: string;
  readonly agent: string;
  readonly entries: readonly Entry[];
}

/** `parts`: by name, such as `messages` or `plugins.fs`. `fault`: why this build cannot fold it. */
export type FoldAnswer = { readonly taskId: string; readonly seq: number } & (
  { readonly parts: Readonly<Record<string, string>> } | { readonly fault: string }
);

/** With keys in one order: in which order a build makes them changes nothing. */
const inOrder = (_key: string, value: unknown): unknown => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
};

const hashOf = (value: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(value, inOrder) ?? "")
    .digest("hex");

const partsOf = ({ plugins, ...kernel }: TaskState): Record<string, string> => {
  const parts = Object.entries(kernel).filter(([, value]) => value !== undefined);
  const ofPlugins = Object.entries(plugins).map(([name, state]) => [`plugins.${name}`, state] as const);
  return Object.fromEntries([...parts, ...ofPlugins].map(([name, value]) => [name, hashOf(value)]));
};

export const foldHashes = ({ prepared }: Agents, { taskId, agent, entries }: FoldQuestion): FoldAnswer => {
  const seq = entries.at(-1)?.seq ?? 0;
  const known = prepared.get(agent);
  if (known === undefined) return { taskId, seq, fault: `there is no agent ${agent}` };
  try {
    return { taskId, seq, parts: partsOf(foldEntries(taskId, entries, known.reducers)) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const newer = error instanceof CodecError && error.code === "newer_version";
    return { taskId, seq, fault: newer ? `only a newer version can read it (${message})` : message };
  }
};

/** How the other build folds the log differently; null when it does not. */
export const foldDifference = (here: FoldAnswer, there: FoldAnswer): string | null => {
  if ("fault" in here) return "fault" in there ? null : `only the other build can fold it: here, ${here.fault}`;
  if ("fault" in there) return `the other build cannot fold it: ${there.fault}`;
  const names = [...new Set([...Object.keys(here.parts), ...Object.keys(there.parts)])].sort();
  const differing = names.filter((name) => here.parts[name] !== there.parts[name]);
  return differing.length === 0 ? null : `folds differently: ${differing.join(", ")}`;
};
