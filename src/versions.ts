// What code this process runs: the build that holds are by, and per agent the version of the snapshots that it makes.
import { createHash, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { PreparedAgent } from "./plugins/plugin.ts";
import { sourceHash } from "./plugins/source-hash.ts";

/** This package's version, from its package.json. */
export const packageVersion = (
  JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { readonly version: string }
).version;

const folder = fileURLToPath(new URL(".", import.meta.url));
const suffix = extname(fileURLToPath(import.meta.url));

/** Where a process cannot know what code it runs, it is a build of its own: too many versions is safe, too few is wrong. */
export const processBuild: string = `process-${randomUUID()}`;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A hash over all code of this package as shipped; read when asked first. */
const packageHash = (): string => {
  const hash = createHash("sha256");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(suffix));
  for (const file of files.sort()) hash.update(`${file}\n`).update(readFileSync(`${folder}${file}`));
  return hash.digest("hex");
};

let known: string | undefined;

/** Names this code, together with the file that configures it (`import.meta.url`), if any: another text of either is
 * another build. */
export const buildOf = async (module?: string): Promise<string> => {
  known ??= packageHash();
  const configured = module === undefined ? "" : ((await sourceHash(module)) ?? processBuild);
  return `${packageVersion}-${sha256(known + configured).slice(0, 16)}`;
};

/**
 * The version of an agent's snapshots: a hash over the code that folds them, with all that it imports, the agent's name
 * and its pins, which hold the plugins' sources.
 */
export const snapshotVersionOf = async ({ agent, pins }: PreparedAgent): Promise<string> => {
  const fold = (await sourceHash(new URL(`./runner/snapshot${suffix}`, import.meta.url).href)) ?? processBuild;
  return sha256(JSON.stringify([fold, agent.name, pins]));
};

export const snapshotVersionsOf = async (
  agents: ReadonlyMap<string, PreparedAgent>,
): Promise<ReadonlyMap<string, string>> => {
  const versions = [...agents].map(async ([name, agent]) => [name, await snapshotVersionOf(agent)] as const);
  return new Map(await Promise.all(versions));
};
