// The looping agent with a plugin that compacts, and one that keeps notes in a state of its own.
import { definePlugin } from "../src/plugins/define.ts";
import { textOf } from "../src/core/messages.ts";
import type { PreparedAgent } from "../src/plugins/plugin.ts";
import { textAt } from "./corpus.ts";
import { prepareLoopingAgent } from "./looping-agent.ts";

const SUMMARY_CHARS = 600;
const KEPT_NOTES = 5;

/** What is in its context. */
export interface Kept {
  /** Messages that stay when it compacts. */
  readonly messages: number;
  readonly outputChars: number;
  readonly contextTokens: number;
}

interface CompactingAgent {
  readonly agent: PreparedAgent;
  /** How often it compacted so far. */
  compactions(): number;
}

const notes = definePlugin({
  name: "notes",
  version: "1",
  module: import.meta.url,
  records: { note: { v: 1 } },
  reducer: {
    initial: () => [],
    reduce: (state, { data }) => [...(state as unknown[]), data].slice(-KEPT_NOTES),
  },
  hooks: {
    afterTool: (_, { content }, view) => {
      view.record({ kind: "note", data: textOf(content).slice(0, 80) });
    },
  },
});

export const prepareCompactingAgent = async (kept: Kept): Promise<CompactingAgent> => {
  let compactions = 0;
  const compaction = definePlugin({
    name: "compaction",
    version: "1",
    module: import.meta.url,
    compact: ({ messages }) => {
      const through = messages.at(-kept.messages)?.seq;
      if (through === undefined) return Promise.resolve(null);
      compactions += 1;
      return Promise.resolve({ through, summary: textAt(through, SUMMARY_CHARS), kept: [] });
    },
  });
  const agent = await prepareLoopingAgent({ outputChars: kept.outputChars, plugins: [compaction, notes] });
  return { agent, compactions: () => compactions };
};
