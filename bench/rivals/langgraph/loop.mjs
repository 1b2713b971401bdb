// One thread of LangGraph that loops as our task does: a scripted reply that asks for one read, the read, the next reply.
// node loop.mjs <folder> <steps> <output chars>. Every checkpoint is on disk before the next step (durability "sync",
// SQLite WAL, synchronous FULL). Prints {"stepsPerSecond", "bytes"}.
import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";

const [folder, stepsText, charsText] = process.argv.slice(2);
const [steps, chars] = [Number(stepsText), Number(charsText)];
const Database = createRequire(import.meta.resolve("@langchain/langgraph-checkpoint-sqlite"))("better-sqlite3");

const text = (length, n) =>
  `${n} ${"some words of a file or a reply ".repeat(Math.ceil(length / 32))}`.slice(0, length);

const build = (saver) => {
  let done = 0;
  const next = (node) => () => (done >= steps ? END : node);
  return new StateGraph(MessagesAnnotation)
    .addNode("model", ({ messages }) => {
      done += 1;
      const id = `c${messages.length}`;
      const calls = [{ id, name: "Look", args: { path: `src/${id}.ts`, limit: messages.length } }];
      return { messages: [new AIMessage({ id: `a${messages.length}`, content: text(120, done), tool_calls: calls })] };
    })
    .addNode("tool", ({ messages }) => {
      done += 1;
      const [call] = messages.at(-1).tool_calls;
      return {
        messages: [new ToolMessage({ id: `t${messages.length}`, tool_call_id: call.id, content: text(chars, done) })],
      };
    })
    .addEdge(START, "model")
    .addConditionalEdges("model", next("tool"))
    .addConditionalEdges("tool", next("model"))
    .compile({ checkpointer: saver });
};

const path = join(folder, "langgraph.db");
const database = new Database(path);
const saver = new SqliteSaver(database);
await saver.getTuple({ configurable: { thread_id: "none" } });
database.pragma("synchronous = FULL");
const graph = build(saver);
const config = { configurable: { thread_id: "t" }, recursionLimit: steps + 50, durability: "sync" };
const before = performance.now();
await graph.invoke({ messages: [new HumanMessage({ id: "h", content: "Go on." })] }, config);
const stepsPerSecond = steps / ((performance.now() - before) / 1_000);
database.pragma("wal_checkpoint(TRUNCATE)");
database.close();
console.log(JSON.stringify({ stepsPerSecond, bytes: statSync(path).size }));
