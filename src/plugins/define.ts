// How a tool and a plugin are written down: identity functions that give `execute` the type of its schema.
import type { InputSchema, Plugin, Tool, TypedTool } from "./plugin.ts";

/** A tool. `execute` is typed by `inputSchema`: a Standard Schema, a TypeBox type or a JSON Schema literal. */
export const defineTool = <const Schema extends InputSchema>(tool: TypedTool<Schema>): Tool => tool;

/** A plugin. Its tools are written with `defineTool`. */
export const definePlugin = (plugin: Plugin): Plugin => plugin;
