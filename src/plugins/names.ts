// What plugins and tools may be called, and that no two of one agent share a name.
import type { Plugin } from "./plugin.ts";

const TOOL_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const PLUGIN_NAME = /^[a-z][a-z0-9_]*$/;

/** The kernel's own records stand under this name. */
const KERNEL = "core";

/** Throws on a name that is not allowed or taken; the message names both that want it. */
export const checkNames = (plugins: readonly Plugin[]): void => {
  const seen = new Map<string, Plugin>();
  const owners = new Map<string, string>();
  for (const plugin of plugins) {
    const { name, version } = plugin;
    if (!PLUGIN_NAME.test(name))
      throw new Error(`plugin name ${JSON.stringify(name)} is not of the form [a-z][a-z0-9_]*`);
    if (name === KERNEL)
      throw new Error(`plugin name ${KERNEL} is the kernel's; plugin version ${version} cannot have it`);
    const other = seen.get(name);
    if (other !== undefined) {
      throw new Error(`two plugins are named ${name}: version ${other.version} and version ${version}`);
    }
    seen.set(name, plugin);
    for (const tool of plugin.tools ?? []) {
      if (!TOOL_NAME.test(tool.name)) {
        const form = "[A-Za-z][A-Za-z0-9_-]{0,63}";
        throw new Error(`tool name ${JSON.stringify(tool.name)} of plugin ${name} is not of the form ${form}`);
      }
      const owner = owners.get(tool.name);
      if (owner !== undefined) throw new Error(`plugins ${owner} and ${name} both have a tool named ${tool.name}`);
      owners.set(tool.name, name);
    }
  }
};
