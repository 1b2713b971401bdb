// What the package `perdure` exports: how agents, tools and plugins are written down, and the types people name.
export type { ApprovalView, DecisionReceipt } from "./client/approvals.ts";
export type { Access, AccessRules, Allowed, Question } from "./access/access.ts";
export { createLocalAccess, openAccess } from "./access/local/local.ts";
export { ClientError, type ClientCode } from "./client/client.ts";
export type { ListedTask } from "./client/list-tasks.ts";
export type { EvidenceRecord, Exported, TaskEvidence, TaskExport } from "./client/export-task.ts";
export type { ActionView, TaskView as ShownTask, UnknownAction } from "./client/show-task.ts";
export { defineAgent, defineConfig, type AgentConfig, type Config } from "./config/config.ts";
export type { ApprovalPolicy, Verdict } from "./core/approval.ts";
export type {
  Effect,
  Event,
  EventOf,
  EventType,
  Mode,
  Outcome,
  Recorded,
  Source,
  Tokens,
  WaitingOn,
} from "./core/events.ts";
export type { Settings, SettingsChange } from "./core/items.ts";
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
export {
  createRuntime,
  type NewTaskOptions,
  type Runtime,
  type RuntimeOptions,
  type Tasks,
} from "./library/create-runtime.ts";
export type {
  DecideOptions,
  Delta,
  FollowOptions,
  HandoffTarget,
  PostOptions,
  StreamPart,
  Task,
} from "./library/task.ts";
export { createDemoModel } from "./model/demo/demo.ts";
export { createScriptedModel } from "./model/scripted/scripted.ts";
export { definePlugin, defineTool } from "./plugins/define.ts";
export { InstanceHeld, lockInstance, type InstanceLock } from "./instance-lock.ts";
export { ask } from "./plugins/ask/ask.ts";
export { fs } from "./plugins/fs/fs.ts";
export { plan } from "./plugins/plan/plan.ts";
export {
  NothingHappened,
  type Hooks,
  type InputOf,
  type InputSchema,
  type NewRecord,
  type Parked,
  type Plugin,
  type Receipt,
  type TaskView,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from "./plugins/plugin.ts";
export type { PostgresOptions } from "./store/postgres/postgres-store.ts";
export {
  DecisionRefused,
  StoreError,
  type Decided,
  type DecisionRefusal,
  type PostReceipt,
  type Store,
  type StoreCode,
  type TaskRow,
} from "./store/store.ts";
export { openPostgresStore, openSqliteStore, type SqliteStoreOptions as SqliteOptions } from "./stores.ts";
