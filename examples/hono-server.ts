// perdure in a server of your own: posts are acknowledged once they are committed, and a client that leaves changes nothing.
// node examples/hono-server.ts, then: curl -N -d 'what is in a.txt?' localhost:3000/tasks
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { ClientError, createRuntime, defineAgent, fs, openSqliteStore } from "perdure";

const store = await openSqliteStore({ path: process.env["PERDURE_DB"] ?? "server.db" });
const runtime = await createRuntime({
  store,
  agents: [defineAgent({ name: "files", model: process.env["PERDURE_MODEL"] ?? "demo", plugins: [fs()] })],
  workspace: process.env["PERDURE_WORKSPACE"] ?? ".",
  module: import.meta.url,
});

const app = new Hono();

/** Who asks. Put your own authentication here: perdure trusts what it is told. */
const tasksOf = (name: string | undefined) => runtime.as(`user:${name ?? "anonymous"}`);

app.post("/tasks", async (c) => {
  const key = c.req.header("idempotency-key");
  const tasks = tasksOf(c.req.header("x-user"));
  const { id } = await tasks.create(await c.req.text(), key === undefined ? {} : { key });
  return c.json({ id }, 202);
});

app.post("/tasks/:id/say", async (c) => {
  const task = await tasksOf(c.req.header("x-user")).task(c.req.param("id"));
  return c.json(await task.say(await c.req.text()), 202);
});

app.get("/tasks/:id", async (c) => {
  const task = await tasksOf(c.req.header("x-user")).task(c.req.param("id"));
  const { status, waitingOn, answer } = await task.show();
  return c.json({ id: task.id, status, waitingOn, answer });
});

app.get("/tasks/:id/events", async (c) => {
  const task = await tasksOf(c.req.header("x-user")).task(c.req.param("id"));
  const after = Number(c.req.header("last-event-id") ?? 0);
  return streamSSE(c, async (stream) => {
    const left = new AbortController();
    stream.onAbort(() => left.abort());
    for await (const { seq, event } of task.follow({ after, signal: left.signal })) {
      await stream.writeSSE({ id: String(seq), event: event.type, data: JSON.stringify(event) });
    }
  });
});

app.onError((error, c) => {
  if (!(error instanceof ClientError)) throw error;
  return c.json({ error: error.message }, error.code === "not_found" ? 404 : 409);
});

const server = serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 3_000) }, ({ port }) => {
  console.log(`listening on ${String(port)}`);
});

process.once("SIGTERM", () => {
  server.close();
  void runtime.close().then(() => store.close());
});
