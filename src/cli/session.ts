// Opens what a command works with: settings, configuration, the store, and the client that acts for a principal.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { basename, dirname, join, relative } from "node:path";
import type { Client } from "../client/client.ts";
import { loadConfig, type LoadedConfig } from "../config/load.ts";
import { resolveSettings, type ProgramSettings } from "../config/settings.ts";
import { systemRandom } from "../runtime.ts";
import { macUnder, nodeHasher } from "../store/node-hasher.ts";
import { openSqliteStore } from "../store/sqlite/sqlite-store.ts";
import type { Store } from "../store/store.ts";
import type { CommonValues } from "./command.ts";
import { CommandError } from "./failure.ts";
import type { Program } from "./program.ts";

export interface Session extends AsyncDisposable {
  readonly settings: ProgramSettings;
  readonly loaded: LoadedConfig;
  readonly store: Store;
  readonly client: Client;
  /** The options that a further command needs to mean the same database and person, as they were given. */
  readonly sameOptions: string;
}

/** All tasks of this front end live in one place: a terminal is where its database is. */
const PLACE = "cli";

/** The folder of the default database is perdure's own, and no one else's business. */
const makeFolder = (db: string): void => {
  const folder = dirname(db);
  if (basename(folder) !== ".perdure" || existsSync(folder)) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, ".gitignore"), "*\n");
};

/** A word as a shell takes it. */
const quoted = (word: string): string => (/^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

export const loadSettings = async (
  { cwd, env }: Program,
  options: CommonValues,
): Promise<{ readonly settings: ProgramSettings; readonly loaded: LoadedConfig }> => {
  const loaded = await loadConfig(cwd, options.config ?? env["PERDURE_CONFIG"]);
  return { settings: resolveSettings({ flags: { ...options }, env, loaded, cwd }), loaded };
};

/** `create`: make the database where there is none; otherwise that is an error. */
export const openSession = async (
  program: Program,
  options: CommonValues,
  { create = false }: { readonly create?: boolean } = {},
): Promise<Session> => {
  const { settings, loaded } = await loadSettings(program, options);
  const { db, as: principal } = settings;
  if (create) makeFolder(db);
  else if (!existsSync(db)) {
    throw new CommandError(`there is no database at ${relative(program.cwd, db)}: perdure run makes one`);
  }
  const store = await openSqliteStore({ path: db });
  const random = { ...systemRandom(), secret: () => new Uint8Array(randomBytes(32)) };
  const client: Client = {
    store,
    hasher: nodeHasher,
    mac: macUnder,
    random,
    principal,
    frontEnd: "cli",
    place: PLACE,
  };
  const given = [
    ["--db", options.db],
    ["--config", options.config],
    ["--as", options.as],
  ] as const;
  const sameOptions = given.flatMap(([flag, value]) => (value === undefined ? [] : [` ${flag} ${quoted(value)}`]));
  return {
    settings,
    loaded,
    store,
    client,
    sameOptions: sameOptions.join(""),
    [Symbol.asyncDispose]: () => store.close(),
  };
};
