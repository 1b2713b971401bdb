// A plugin with a state of its own: what its tools record is folded from the log, so that it survives whatever happens, and
// the model is reminded of it. node examples/plugin-with-state.ts
import { createRuntime, defineAgent, definePlugin, defineTool, createScriptedModel, openSqliteStore } from "perdure";

interface Expenses {
  readonly total: number;
  readonly count: number;
}

const spend = defineTool({
  name: "Spend",
  description: "Notes an expense.",
  inputSchema: {
    type: "object",
    properties: { for: { type: "string" }, amount: { type: "number" } },
    required: ["for", "amount"],
  },
  effect: "internal",
  execute(input, context) {
    // Lands in the same append as the call's result: never the one without the other.
    context.record({ kind: "spent", data: input });
    return "noted";
  },
});

const total = defineTool({
  name: "Total",
  description: "Adds up what was noted.",
  inputSchema: { type: "object", properties: {} },
  effect: "read",
  execute(_input, context) {
    const { total, count } = context.state as Expenses;
    return `${String(total)} in ${String(count)} expenses`;
  },
});

const expenses = definePlugin({
  name: "expenses",
  version: "1",
  module: import.meta.url,
  tools: [spend, total],
  records: { spent: { v: 1, skeleton: ["amount"] } },
  reducer: {
    initial: (): Expenses => ({ total: 0, count: 0 }),
    // Pure, and total over every version that was ever written: a redacted record has its skeleton alone.
    reduce: (state, { data }): Expenses => {
      const { total, count } = state as Expenses;
      const { amount = 0 } = data as { readonly amount?: number };
      return { total: total + amount, count: count + 1 };
    },
  },
});

const model = createScriptedModel({
  name: "script",
  lines: [
    {
      calls: [
        { name: "Spend", input: { for: "train", amount: 40 } },
        { name: "Spend", input: { for: "hotel", amount: 90 } },
      ],
    },
    { calls: [{ name: "Total", input: {} }] },
    { text: "Both are noted." },
  ],
});

const store = await openSqliteStore({ path: process.argv[2] ?? "expenses.db" });
const runtime = await createRuntime({
  store,
  agents: [defineAgent({ name: "clerk", model: "script", plugins: [expenses] })],
  models: { script: model },
  module: import.meta.url,
});
const task = await runtime.create("Note my expenses.");
console.log((await task.untilRest()).answer);
for (const { event } of await task.events()) {
  if (event.type === "ToolFinished") console.log(event.callId, JSON.stringify(event.content));
}
await runtime.close();
await store.close();
