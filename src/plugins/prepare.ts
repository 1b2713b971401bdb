// Makes an agent ready to run: names checked, tools compiled and named by hash, plugins pinned.
import { isEqualJson } from "../core/equal.ts";
import type { Pin, ToolEntry } from "../core/records.ts";
import { definitionOf } from "./definition.ts";
import { checkNames } from "./names.ts";
import type { Agent, Plugin, PreparedAgent, PreparedTool, Tool } from "./plugin.ts";
import { compileSchema } from "./schema.ts";
import { sourceHash } from "./source-hash.ts";

export interface PrepareOptions {
  /** Names code that cannot be read: the source of a plugin whose own is not known. */
  readonly build: string;
  /** The module (`import.meta.url`) of plugins that name none: the file that they are written in. */
  readonly module?: string;
}

const pinOf = async ({ name, version, module, args }: Plugin, options: PrepareOptions): Promise<Pin> => {
  if (args !== undefined && !isEqualJson(JSON.parse(JSON.stringify(args) ?? "null"), args)) {
    throw new Error(`plugin ${name}: its args are part of its pin and must be plain JSON`);
  }
  const file = module ?? options.module;
  const source = (file === undefined ? null : await sourceHash(file)) ?? options.build;
  return { name, version, source, ...(args === undefined ? {} : { args }) };
};

const entryOf = (tool: Tool, plugin: Plugin, definition: string): ToolEntry => ({
  name: tool.name,
  definition,
  plugin: plugin.name,
  effect: tool.effect,
  ...(tool.idempotent === undefined ? {} : { idempotent: { ttlMs: tool.idempotent.ttlMs } }),
  ...(tool.verify === undefined ? {} : { verify: true }),
  ...(tool.onUnknown === undefined ? {} : { onUnknown: tool.onUnknown }),
  ...(tool.deferred === true ? { deferred: true } : {}),
});

const compileTool = (tool: Tool, plugin: Plugin): PreparedTool => {
  try {
    const { text, hash } = definitionOf(tool);
    const output = tool.outputSchema === undefined ? null : compileSchema(tool.outputSchema);
    return {
      tool,
      plugin,
      entry: entryOf(tool, plugin, hash),
      definition: text,
      checkInput: compileSchema(tool.inputSchema).validate,
      checkOutput: output?.validate ?? ((value) => ({ ok: true, value })),
    };
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`plugin ${plugin.name}, tool ${tool.name}: ${message}`, { cause });
  }
};

const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1);

/**
 * Throws on names that are not allowed or collide, on a schema that does not compile and on arguments that are not JSON;
 * the message names the plugin.
 */
export const prepareAgent = async (agent: Agent, options: PrepareOptions): Promise<PreparedAgent> => {
  const { plugins } = agent;
  checkNames(plugins);
  const tools = plugins.flatMap((plugin) => (plugin.tools ?? []).map((tool) => compileTool(tool, plugin)));
  tools.sort((a, b) => byName(a.tool, b.tool));
  const pins = await Promise.all(plugins.map((plugin) => pinOf(plugin, options)));
  const reducers = plugins.flatMap(({ name, reducer }) => (reducer === undefined ? [] : [[name, reducer] as const]));
  return {
    agent,
    tools: new Map(tools.map((prepared) => [prepared.tool.name, prepared])),
    pins: pins.sort(byName),
    reducers: Object.fromEntries(reducers),
  };
};
