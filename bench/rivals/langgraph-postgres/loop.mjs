// One thread of LangGraph on Postgres that loops as our task does, as in langgraph/loop.mjs.
// node loop.mjs <url> <steps> <output chars> <whole|delta>: the message list whole in each checkpoint, as is usual, or the
// experimental kind that keeps changes. Prints {"stepsPerSecond"}.
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, MessagesDeltaValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";

const [url, stepsText, charsText, kind] = process.argv.slice(2);
const [steps, chars] = [Number(stepsText), Number(charsText)];

const text = (length, n) =>
  `${n} ${"some words of a file or a reply ".repeat(Math.ceil(length / 32))}`.slice(0, length);

const build = (saver) => {
  let done = 0;
  const next = (node) => () => (done >= steps ? END : node);
  return new StateGraph(kind === "delta" ? new StateSchema({ messages: MessagesDeltaValue }) : MessagesAnnotation)
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

const saver = PostgresSaver.fromConnString(url);
await saver.setup();
const config = { configurable: { thread_id: "t" }, recursionLimit: steps + 50, durability: "sync" };
const before = performance.now();
await build(saver).invoke({ messages: [new HumanMessage({ id: "h", content: "Go on." })] }, config);
const stepsPerSecond = (steps * 1_000) / (performance.now() - before);
await saver.end();
console.log(JSON.stringify({ stepsPerSecond }));
