// Opens what a command works with: settings, configuration, the store, and the client that acts for a principal.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { Access } from "../access/access.ts";
import { createLocalAccess } from "../access/local/local.ts";
import type { Client } from "../client/client.ts";
import { loadConfig, type LoadedConfig } from "../config/load.ts";
import { LOCAL_PLACE, resolveSettings, type ProgramSettings } from "../config/settings.ts";
import { createCorrections, type Corrections } from "../corrections.ts";
import { createClient, patient } from "../runtime.ts";
import type { Store } from "../store/store.ts";
import { isPostgresUrl, openPostgresStore, openSqliteStore } from "../stores.ts";
import type { CommonValues } from "./command.ts";
import { CommandError } from "./failure.ts";
import type { Program } from "./program.ts";

/** Settings and the configuration that they come from. */
export interface Given {
  readonly settings: ProgramSettings;
  readonly loaded: LoadedConfig;
  readonly access: Access;
  /** Of this process: its front end tells its worker. */
  readonly corrections: Corrections;
}

export interface Session extends Given, AsyncDisposable {
  readonly store: Store;
  readonly client: Client;
  /** A command line for a person to go on with: these words, with the options that mean the same database and person. */
  again(words: string, changed?: Pick<CommonValues, "place">): string;
}

/** As configured; the local place is open to whoever runs this, for the database is theirs, unless it is named too. */
const accessOf = ({ config: { access } }: LoadedConfig): Access => {
  if (access !== undefined && "may" in access) return patient(access);
  const { places = {}, ...rules } = access ?? {};
  return patient(createLocalAccess({ ...rules, places: { [LOCAL_PLACE]: "everyone", ...places } }));
};

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
  const settings = resolveSettings({ flags: { ...options }, env, loaded, cwd });
  return { settings, loaded, access: accessOf(loaded), corrections: createCorrections() };
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
  given: Given,
  create: boolean,
): Promise<Session> => {
  const { settings, access, corrections } = given;
  const { db, as: principal, place } = settings;
  const store = await (isPostgresUrl(db) ? openPostgresStore({ url: db, create }) : openSqliteStore({ path: db }));
  const client = createClient({ store, access, corrections, principal, frontEnd: "cli", place });
  const optionsOf = (given: CommonValues): string[] =>
    (["db", "config", "as", "place"] as const).flatMap((name) => {
      const value = given[name];
      if (value === undefined) return [];
      // A password has no place on a screen.
      const shown = name === "db" && isPostgresUrl(value) ? store.name : value;
      return [` --${name} ${quoted(shown)}`];
    });
  return {
    ...given,
    store,
    client,
    again: (words, changed = {}) => `${command} ${words}${optionsOf({ ...options, ...changed }).join("")}`,
    [Symbol.asyncDispose]: () => store.close(),
  };
};
