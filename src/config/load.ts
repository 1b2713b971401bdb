// Finds perdure.config.ts and runs it. Whatever is wrong with it is one line that names the file and the reason.
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { configFault, type Config } from "./config.ts";

export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

export interface LoadedConfig {
  readonly config: Config;
  /** Absolute; paths in the configuration are relative to its folder. Null when there is no file. */
  readonly path: string | null;
}

const FILES = ["perdure.config.ts", "perdure.config.js", "perdure.config.mjs"];

/** The configuration that stands in `folder` itself. */
export const configIn = (folder: string): string | undefined =>
  FILES.map((file) => join(folder, file)).find((file) => existsSync(file));

/** The configuration that holds in `folder`: there, or in the nearest folder above. */
const findConfig = (folder: string): string | null => {
  const found = configIn(folder);
  if (found !== undefined) return found;
  const above = dirname(folder);
  return above === folder ? null : findConfig(above);
};

const packageEntry = new URL(`../index${extname(fileURLToPath(import.meta.url))}`, import.meta.url).href;

/**
 * A configuration's `perdure` is this very package, also where none is installed beside it: of two copies one would not
 * know the other's classes. It is an ES module, whatever the package around it says.
 */
const runAsModule = async (url: string): Promise<unknown> => {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier === "perdure") return { url: packageEntry, shortCircuit: true };
      const resolved = next(specifier, context);
      if (resolved.url !== url) return resolved;
      return { ...resolved, format: url.endsWith(".ts") ? "module-typescript" : "module" };
    },
  });
  try {
    return await import(url);
  } finally {
    hooks.deregister();
  }
};

/** What went wrong, in one line, and where in the file, if that is known. */
const reasonOf = (error: unknown, url: string): string => {
  if (!(error instanceof Error)) return String(error);
  const [, line] = /^\S*?:(\d+)/.exec(error.stack?.split(fileURLToPath(url)).at(1) ?? "") ?? [];
  const [message = ""] = error.message.split("\n");
  return line === undefined ? message : `line ${line}: ${message}`;
};

const load = async (path: string, name: string): Promise<Config> => {
  const url = pathToFileURL(path).href;
  let loaded: unknown;
  try {
    loaded = await runAsModule(url);
  } catch (cause) {
    throw new ConfigError(`${name} cannot be loaded: ${reasonOf(cause, url)}`, { cause });
  }
  const { default: config } = loaded as { default?: unknown };
  if (config === undefined) {
    throw new ConfigError(`${name} exports no configuration: write export default defineConfig({ … })`);
  }
  const fault = configFault(config);
  if (fault !== null) throw new ConfigError(`${name} is no configuration: ${fault}`);
  return config as Config;
};

/**
 * The configuration in `explicit`, or the one that holds in `cwd`; an empty one where there is none. Throws ConfigError.
 */
export const loadConfig = async (cwd: string, explicit?: string): Promise<LoadedConfig> => {
  const path = explicit === undefined ? findConfig(cwd) : resolve(cwd, explicit);
  if (path === null) return { config: {}, path: null };
  if (!existsSync(path)) throw new ConfigError(`there is no configuration at ${explicit ?? path}`);
  return { config: await load(path, relative(cwd, path)), path };
};
