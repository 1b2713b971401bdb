// perdure in thirty lines: a task that answers from a file and tells a team, and that goes on when this program is killed.
// Run it again with the same key, and it is the same task: node examples/first-program.ts
import { appendFile } from "node:fs/promises";
import { createRuntime, defineAgent, defineTool, fs, openSqliteStore } from "perdure";

const tell = defineTool({
  name: "Tell",
  description: "Sends a message to the team.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  effect: "write",
  async execute({ text }) {
    await appendFile("team.txt", `${text}\n`);
    return "sent";
  },
});

const clerk = defineAgent({
  name: "clerk",
  system: "Answer from the files, then tell the team.",
  model: process.env["PERDURE_MODEL"] ?? "demo",
  plugins: [fs()],
  tools: [tell],
});

const store = await openSqliteStore({ path: "tasks.db" });
const runtime = await createRuntime({ store, agents: [clerk], workspace: ".", module: import.meta.url });
const task = await runtime.create("what is in a.txt?", { key: "first" });
for await (const part of task.stream()) {
  if ("delta" in part && part.delta.type === "text") process.stdout.write(part.delta.delta);
}
console.log(`\n${task.id}: ${(await task.show()).outcome ?? ""}`);
await runtime.close();
await store.close();
