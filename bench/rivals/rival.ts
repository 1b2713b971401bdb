// Other systems, measured beside ours in the same run. They are installed when they are first asked for, into the cache of
// node_modules, and are no dependency of this project.
import { execFile, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { promisify } from "node:util";

const here = import.meta.dirname;
const cache = fileURLToPath(new URL("../../node_modules/.cache/rivals", import.meta.url));

/** What npm runs on, and so what it compiles for; a rival runs on that too. */
const node = process.env["npm_node_execpath"] ?? process.execPath;

/** Some of them compile: minutes, the first time. */
const install = async (name: string): Promise<string> => {
  const folder = join(cache, name);
  const done = join(folder, "installed");
  mkdirSync(folder, { recursive: true });
  for (const file of ["package.json", "loop.mjs"]) copyFileSync(join(here, name, file), join(folder, file));
  if (existsSync(done)) return folder;
  const npm = spawn("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = (await once(npm, "close")) as [number | null];
  if (code !== 0) throw new Error(`npm could not install ${name} in ${folder}: it ended with ${String(code)}`);
  writeFileSync(done, "");
  return folder;
};

/** Makes it ready; gives how to run its loop, which prints one JSON object. */
export const prepareRival = async (name: string): Promise<(...args: readonly string[]) => Promise<unknown>> => {
  const folder = await install(name);
  return async (...args) => {
    const { stdout } = await promisify(execFile)(node, [join(folder, "loop.mjs"), ...args]);
    return JSON.parse(stdout) as unknown;
  };
};
