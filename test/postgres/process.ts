// The processes of processes.test.ts: `node process.ts worker <url>` or `node process.ts client <url> <tasks>`. Whatever
// else they need to agree on is in the database. They tell what happens line by line.
import { Type } from "typebox";
import { createProgram, newTask, work } from "../../bench/program.ts";
import { definePlugin, defineTool } from "../../src/plugins/define.ts";
import { prepareAgent } from "../../src/plugins/prepare.ts";
import { createRunnerPorts } from "../../src/runtime.ts";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { CYCLES, LEASE_MS } from "./job-size.ts";

const [role = "", url = "", count = ""] = process.argv.slice(2);
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const look = defineTool({
  name: "Look",
  description: "Looks.",
  inputSchema: Type.Object({ n: Type.Integer() }, { additionalProperties: false }),
  effect: "read",
  execute: ({ n }) => `seen ${String(n)}`,
});
const agent = await prepareAgent(
  {
    name: "looker",
    identity: "You look.",
    system: "Look, and look again.",
    settings: { model: "scripted:looker" },
    mode: "conversation",
    onInterrupt: "continue",
    plugins: [definePlugin({ name: "look", version: "1", module: import.meta.url, tools: [look] })],
  },
  { build: "test" },
);

const store = await openPostgresStore({ url });
const program = await createProgram({
  store,
  agent,
  model: {
    name: "scripted:looker",
    contextTokens: null,
    async *stream(_request, { context: { replies } }) {
      say("asked");
      const call = {
        type: "call",
        name: "Look",
        input: { n: replies },
        providerId: `call_${String(replies)}`,
      } as const;
      const isLast = replies === CYCLES;
      const parts = [{ type: "text", text: `reply ${String(replies)}` } as const, ...(isLast ? [] : [call])];
      yield {
        type: "reply",
        reply: { message: { parts }, stopReason: isLast ? "end_turn" : "tool_use", tokens: "unknown" },
      };
    },
  },
});

if (role === "worker") {
  const { agents, model, exec, build, watcher } = program.ports;
  const ports = createRunnerPorts({ store, agents, model, exec, build, watcher, limits: { leaseMs: LEASE_MS } });
  const worker = work({ ...program, ports }, { name: `worker ${String(process.pid)}` });
  await worker.idle();
  say("ready");
  process.on("SIGTERM", () => {
    void worker.stop().then(() => store.close());
  });
} else {
  // A front end: posts, and reads logs as they grow. It never appends. To wait for others keeps no process alive.
  const alive = setInterval(() => undefined, 60_000);
  const ids: string[] = [];
  for (let made = 0; made < Number(count); made += 1) ids.push(await newTask(program));
  await Promise.all(
    ids.map(async (taskId) => {
      const signal = new AbortController().signal;
      for await (const { type } of store.follow({ taskId, signal })) if (type === "Waiting") break;
      say(taskId);
    }),
  );
  clearInterval(alive);
  await store.close();
}
