// What the package `perdure` exports: how agents, tools and plugins are written down, and the types people name.
export { defineAgent, defineConfig, type AgentConfig, type Config } from "./config/config.ts";
export type { Effect, Event, EventOf, EventType, Mode, Outcome, Source, Tokens, WaitingOn } from "./core/events.ts";
export type { Settings } from "./core/items.ts";
export type { Content, ContentPart, Message, Reply } from "./core/messages.ts";
export type { ModelRequest, RequestTool } from "./core/request.ts";
export type { Reducer, TaskState } from "./core/state.ts";
export { ExecError, type Exec, type ExecCode } from "./exec/exec.ts";
export { ModelError, type Model, type ModelContext, type ModelPart, type ModelReply } from "./model/model.ts";
export { createScriptedModel } from "./model/scripted/scripted.ts";
export { definePlugin, defineTool } from "./plugins/define.ts";
export { fs } from "./plugins/fs/fs.ts";
export {
  NothingHappened,
  type Hooks,
  type InputOf,
  type InputSchema,
  type NewRecord,
  type Plugin,
  type Receipt,
  type TaskView,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from "./plugins/plugin.ts";
export type { PostgresOptions } from "./store/postgres/postgres-store.ts";
export type { SqliteOptions } from "./store/sqlite/sqlite-store.ts";
export { StoreError, type Store, type StoreCode } from "./store/store.ts";
export { openPostgresStore, openSqliteStore } from "./stores.ts";
