// Other systems, measured beside ours in the same run. They are installed when they are first asked for, into the cache of
// node_modules, and are no dependency of this project.
import { execFile, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const here = import.meta.dirname;
const cache = fileURLToPath(new URL("../../node_modules/.cache/rivals", import.meta.url));

/** The loop of one that hangs is ended after this (ms). */
const LONGEST_MS = 300_000;

export interface RivalOptions {
  /** It has parts that npm compiles, for what npm itself runs on: then its loop runs on that too. */
  readonly compiles?: boolean;
}

/** Some of them compile: minutes, the first time. */
const install = async (name: string, { compiles = false }: RivalOptions): Promise<string> => {
  const folder = join(cache, name);
  const done = join(folder, "installed");
  mkdirSync(folder, { recursive: true });
  const files = [join(name, "package.json"), join(name, "loop.mjs"), "measure.mjs"];
  for (const file of files) copyFileSync(join(here, file), join(folder, basename(file)));
  if (existsSync(done)) return folder;
  const scripts = compiles ? [] : ["--ignore-scripts"];
  const npm = spawn("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock", ...scripts], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = (await once(npm, "close")) as [number | null];
  if (code !== 0) throw new Error(`npm could not install ${name} in ${folder}: it ended with ${String(code)}`);
  writeFileSync(done, "");
  return folder;
};

/** Makes it ready; gives how to run its loop, which prints one JSON object. */
export const prepareRival = async (
  name: string,
  options: RivalOptions = {},
): Promise<(...args: readonly string[]) => Promise<unknown>> => {
  const folder = await install(name, options);
  const node = options.compiles === true ? (process.env["npm_node_execpath"] ?? process.execPath) : process.execPath;
  return async (...args) => {
    const { stdout } = await promisify(execFile)(node, [join(folder, "loop.mjs"), ...args], { timeout: LONGEST_MS });
    return JSON.parse(stdout) as unknown;
  };
};

/** The version of one of its packages. */
export const versionOf = (name: string, dependency: string): string => {
  const { dependencies } = JSON.parse(readFileSync(join(here, name, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const version = dependencies[dependency];
  if (version === undefined) throw new Error(`${name} has no ${dependency}`);
  return version;
};
