// What the package `perdure` exports: how agents, tools and plugins are written down, and the types people name.
export { defineAgent, defineConfig, type AgentConfig, type Config } from "./config/config.ts";
export type { Effect, Event, EventOf, EventType, Mode, Outcome, Source, Tokens, WaitingOn } from "./core/events.ts";
export type { Settings } from "./core/items.ts";
export type { Content, ContentPart, Message, Reply } from "./core/messages.ts";
export type { ModelRequest, RequestTool } from "./core/request.ts";
export type { Reducer, TaskState } from "./core/state.ts";
export { ExecError, type Exec, type ExecCode } from "./exec/exec.ts";
export {
  ModelError,
  type Model,
  type ModelContext,
  type ModelPart,
  type ModelReply,
  type Price,
  type Prices,
} from "./model/model.ts";
export { createAiSdkModel, type AiSdkOptions } from "./model/ai-sdk/ai-sdk.ts";
export { fileRules, type FileRules } from "./model/ai-sdk/file-rules.ts";
export { ModelSetupError, openNamedModel, type Secrets } from "./model/ai-sdk/named.ts";
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
