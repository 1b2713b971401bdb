// Where a process may be made to die, or to stand still, in the middle of its work: named points of its store, its model
// and its tools, each counted from the start of the process.
import type { Model } from "../../src/model/model.ts";
import type { AppendParams, Store } from "../../src/store/store.ts";
import type { ToolPoints } from "./counting-agent.ts";

export const pointNames = [
  "after claim",
  "before append",
  "after append",
  "after announce",
  "before effect",
  "after effect",
  "before reply",
  "before verify",
  "before release",
  "after release",
  "before snapshot",
  "after snapshot",
] as const;
export type PointName = (typeof pointNames)[number];

/** Called whenever the process comes by a point. */
export type Pass = (point: PointName) => void;

const announces = ({ drafts }: AppendParams): boolean => drafts.some(({ type }) => type === "ToolStarted");

/** The store, whose calls come by their points. Whatever happens there is before the call began, or after its commit. */
export const storePassing = (store: Store, pass: Pass): Store => ({
  ...store,
  claim: async (params) => {
    const claim = await store.claim(params);
    if (claim !== null) pass("after claim");
    return claim;
  },
  append: async (params) => {
    pass("before append");
    const receipt = await store.append(params);
    pass("after append");
    if (announces(params)) pass("after announce");
    return receipt;
  },
  release: async (params) => {
    pass("before release");
    await store.release(params);
    pass("after release");
  },
  putSnapshot: async (params) => {
    pass("before snapshot");
    const kept = await store.putSnapshot(params);
    pass("after snapshot");
    return kept;
  },
});

export const modelPassing = (model: Model, pass: Pass): Model => ({
  ...model,
  async *stream(request, options) {
    for await (const part of model.stream(request, options)) {
      if (part.type === "reply") pass("before reply");
      yield part;
    }
  },
});

/** Effects are those of writes; a read has none that could be doubled. */
export const toolsPassing = (pass: Pass): Omit<ToolPoints, "begun"> => ({
  entered: (tool) => {
    if (tool !== "look") pass("before effect");
  },
  done: (tool) => {
    if (tool !== "look") pass("after effect");
  },
  verifying: () => {
    pass("before verify");
  },
});
