// Settings by precedence: flags, then PERDURE_* variables, then perdure.config.ts, then what holds without any.
import { userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Mode } from "../core/events.ts";
import { DURATION_WORDS, parseDuration } from "./duration.ts";
import type { LoadedConfig } from "./load.ts";

/** A flag or a variable holds what its setting cannot be. */
export class SettingError extends Error {
  override readonly name = "SettingError";
}

export interface ProgramSettings {
  /** Absolute path of the SQLite file. */
  readonly db: string;
  /** Absolute path of the folder where tools work. */
  readonly workspace: string;
  /** Who acts, `kind:id`. */
  readonly as: string;
  /** Where tasks are looked for and begun. */
  readonly place: string;
  readonly leaseMs: number;
  /** Undefined: the agent's own, or what holds without any. */
  readonly model: string | undefined;
  readonly agent: string | undefined;
  readonly mode: Mode | undefined;
  readonly maxSteps: number | undefined;
  readonly onInterrupt: "continue" | "pause" | undefined;
  /** Conversations at rest for so long (ms) are closed by a worker; undefined: never. */
  readonly closeIdleAfter: number | undefined;
  readonly queue: string | undefined;
  readonly priority: number | undefined;
  /** How many tasks a worker runs at once. */
  readonly concurrency: number;
  /** Snapshots at least so many events apart; 0: none. */
  readonly snapshotEvery: number | undefined;
  /** How long a worker that is told to stop waits for the steps under way (ms). */
  readonly stopAfter: number;
}

/** Flags by their names, without dashes; those that are no setting are passed over. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

interface Given {
  readonly text: string;
  /** The flag, variable or file that it stands in, for messages. */
  readonly from: string;
  /** What a path in it is relative to. */
  readonly folder: string;
}

/** All tasks of the command line live in one place unless told: a terminal is where its database is. */
export const LOCAL_PLACE = "cli";

const DEFAULT_CONCURRENCY = 4;
const DEFAULT_STOP_AFTER_MS = 30_000;
const DEFAULT_LEASE_MS = 5_000;
const SHORTEST_LEASE_MS = 100;

/** What the configuration sets for every agent. (Its `model` stands behind an agent's own.) */
const configured: readonly string[] = ["db", "workspace", "leaseMs", "agent", "closeIdleAfter"];

const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
const kebab = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const wholeFrom =
  (least: number) =>
  ({ text, from }: Given): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
    throw new SettingError(`${from} must be a whole number of at least ${String(least)}, not ${JSON.stringify(text)}`);
  };

const whole = ({ text, from }: Given): number => {
  const value = Number(text);
  if (/^-?\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new SettingError(`${from} must be a whole number, not ${JSON.stringify(text)}`);
};

const oneOf =
  <T extends string>(...words: readonly T[]) =>
  ({ text, from }: Given): T => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new SettingError(`${from} must be ${words.join(" or ")}, not ${JSON.stringify(text)}`);
  };

const duration = ({ text, from }: Given): number => {
  const ms = parseDuration(text);
  if (ms !== null && ms > 0) return ms;
  throw new SettingError(`${from} must be ${DURATION_WORDS}, not ${JSON.stringify(text)}`);
};

const path = ({ text, folder }: Given): string => resolve(folder, text);

const database = (given: Given): string => {
  const [scheme] = /^[a-z][a-z0-9+.-]+:\/\/|^file:/i.exec(given.text) ?? [];
  if (scheme === undefined) return path(given);
  if (/^postgres(ql)?:/i.test(scheme)) return given.text;
  const told = `${given.from} takes the path of a SQLite file, or a postgres:// URL`;
  throw new SettingError(`${told}: ${scheme} is not a scheme that it knows`);
};

/** A principal as a person writes one: `kind:id`, or the name of a user of this system. Throws SettingError. */
export const principalOf = ({ text, from }: Pick<Given, "text" | "from">): string => {
  if (/^[a-z]+:\S+$/.test(text)) return text;
  if (/^[^\s:]+$/.test(text)) return `local:${text}`;
  throw new SettingError(`${from} must be a name or kind:id, not ${JSON.stringify(text)}`);
};

/** The user this process runs as; a container may have no name for it. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid-${String(process.getuid?.() ?? 0)}`;
  }
};

/** Throws SettingError, which names the flag or variable at fault. */
export const resolveSettings = (sources: {
  readonly flags: Flags;
  readonly env: NodeJS.ProcessEnv;
  readonly loaded: LoadedConfig;
  readonly cwd: string;
}): ProgramSettings => {
  const { flags, env, loaded, cwd } = sources;
  const configFolder = loaded.path === null ? cwd : dirname(loaded.path);
  const given = (key: keyof ProgramSettings): Given | undefined => {
    const flag = flags[kebab(key)];
    if (typeof flag === "string") return { text: flag, from: `--${kebab(key)}`, folder: cwd };
    const variable = `PERDURE_${snake(key)}`;
    const text = env[variable];
    if (text !== undefined && text !== "") return { text, from: variable, folder: cwd };
    const value = configured.includes(key) ? loaded.config[key as "db" | "leaseMs"] : undefined;
    return value === undefined ? undefined : { text: String(value), from: key, folder: configFolder };
  };
  const read = <T, D>(key: keyof ProgramSettings, parse: (given: Given) => T, otherwise: D): T | D => {
    const found = given(key);
    return found === undefined ? otherwise : parse(found);
  };
  const text = ({ text: value }: Given): string => value;
  return {
    db: read("db", database, join(configFolder, ".perdure", "tasks.db")),
    workspace: read("workspace", path, cwd),
    as: read("as", principalOf, `local:${userName()}`),
    place: read("place", text, LOCAL_PLACE),
    leaseMs: read("leaseMs", wholeFrom(SHORTEST_LEASE_MS), DEFAULT_LEASE_MS),
    model: read("model", text, undefined),
    agent: read("agent", text, undefined),
    mode: read("mode", oneOf("conversation", "run", "oneShot"), undefined),
    maxSteps: read("maxSteps", wholeFrom(1), undefined),
    onInterrupt: read("onInterrupt", oneOf("continue", "pause"), undefined),
    closeIdleAfter: read("closeIdleAfter", duration, undefined),
    queue: read("queue", text, undefined),
    priority: read("priority", whole, undefined),
    concurrency: read("concurrency", wholeFrom(1), DEFAULT_CONCURRENCY),
    snapshotEvery: read("snapshotEvery", wholeFrom(0), undefined),
    stopAfter: read("stopAfter", wholeFrom(0), DEFAULT_STOP_AFTER_MS),
  };
};
