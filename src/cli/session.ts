// Opens what a command works with: settings, configuration, the store, and the client that acts for a principal.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { Client } from "../client/client.ts";
import { loadConfig, type LoadedConfig } from "../config/load.ts";
import { resolveSettings, type ProgramSettings } from "../config/settings.ts";
import { createClient } from "../runtime.ts";
import type { Store } from "../store/store.ts";
import { isPostgresUrl, openPostgresStore, openSqliteStore } from "../stores.ts";
import type { CommonValues } from "./command.ts";
import { CommandError } from "./failure.ts";
import type { Program } from "./program.ts";

/** Settings and the configuration that they come from. */
export interface Given {
  readonly settings: ProgramSettings;
  readonly loaded: LoadedConfig;
}

export interface Session extends Given, AsyncDisposable {
  readonly store: Store;
  readonly client: Client;
  /** A command line for a person to go on with: these words, with the options that mean the same database and person. */
  again(words: string): string;
}

/** All tasks of this front end live in one place: a terminal is where its database is. */
const PLACE = "cli";

/** The folder of the default database is perdure's own, and no one else's business. */
export const makeFolder = (db: string): void => {
  const folder = dirname(db);
  if (isPostgresUrl(db)) return;
  if (basename(folder) !== ".perdure" || existsSync(folder)) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, ".gitignore"), "*\n");
};

/** A word as a shell takes it. */
const quoted = (word: string): string => (/^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

export const loadSettings = async ({ cwd, env }: Program, options: CommonValues): Promise<Given> => {
  const loaded = await loadConfig(cwd, options.config ?? env["PERDURE_CONFIG"]);
  return { settings: resolveSettings({ flags: { ...options }, env, loaded, cwd }), loaded };
};

/** Opens the database, and makes it where there is none. */
export const createSession = async (program: Program, options: CommonValues, given: Given): Promise<Session> => {
  makeFolder(given.settings.db);
  return openStore(program, options, given, true);
};

/** Opens the database that must be there. */
export const openSession = async (program: Program, options: CommonValues): Promise<Session> => {
  const given = await loadSettings(program, options);
  const { db } = given.settings;
  if (!isPostgresUrl(db) && !existsSync(db)) {
    throw new CommandError(`there is no database at ${relative(program.cwd, db)}: perdure run makes one`);
  }
  return openStore(program, options, given, false);
};

const openStore = async (
  { command }: Program,
  options: CommonValues,
  { settings, loaded }: Given,
  create: boolean,
): Promise<Session> => {
  const { db, as: principal } = settings;
  const store = await (isPostgresUrl(db) ? openPostgresStore({ url: db, create }) : openSqliteStore({ path: db }));
  const client = createClient({ store, principal, frontEnd: "cli", place: PLACE });
  const sameOptions = (["db", "config", "as"] as const).flatMap((name) => {
    const value = options[name];
    if (value === undefined) return [];
    // A password has no place on a screen.
    const shown = name === "db" && isPostgresUrl(value) ? store.name : value;
    return [` --${name} ${quoted(shown)}`];
  });
  return {
    settings,
    loaded,
    store,
    client,
    again: (words) => `${command} ${words}${sameOptions.join("")}`,
    [Symbol.asyncDispose]: () => store.close(),
  };
};
