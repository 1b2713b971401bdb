// What Postgres, its driver and the network refuse, told as one of the store's refusals.
import { StoreError } from "../store.ts";

/** The five characters of a server's error (Postgres manual, appendix A), or undefined: the driver's, or the network's. */
export const sqlState = (error: unknown): string | undefined => {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return /^[0-9A-Z]{5}$/.test(error.code) && "severity" in error ? error.code : undefined;
};

/** Two transactions were in each other's way; nothing was done, and the same may succeed at once. */
export const isCollision = (error: unknown): boolean => ["40001", "40P01"].includes(sqlState(error) ?? "");

/** A row of text does not decode as UTF-8, or holds NUL. */
export const isUntranslatable = (error: unknown): boolean => ["22021", "22P05"].includes(sqlState(error) ?? "");

/** What this code calls is not there, or not as it knows it. */
export const isOtherSchema = (error: unknown): boolean =>
  ["42P01", "42883", "42703", "3F000"].includes(sqlState(error) ?? "");

/** Whether the connection is still good for another statement. After a read-only answer it is not: it leads to a standby. */
export const isSpoilt = (error: unknown): boolean => {
  const state = sqlState(error);
  return state === undefined || /^(57P|08|25006|25P03)/.test(state);
};

const unavailable: readonly (readonly [RegExp, string])[] = [
  [/^08/, "the connection failed"],
  [/^25006/, "it is read-only"],
  [/^25P03/, "it waited too long for the rest of a transaction"],
  [/^28/, "it does not let this user in"],
  [/^3D000/, "there is no such database"],
  [/^40/, "other transactions were in the way"],
  [/^42501/, "this user may not do that"],
  [/^53100/, "its disk is full"],
  [/^53300/, "it has too many connections"],
  [/^53/, "it lacks resources"],
  [/^55P03/, "a lock was not to be had"],
  [/^55000/, "it is not ready"],
  [/^57/, "it is shutting down, or ended this statement"],
  [/^58/, "its system reports an error"],
];

const DAMAGED = /^(XX001|XX002)/;

/** The refusal that `error`, of a statement or a connection, is; what is none (a bug) comes back as it is. */
export const refusalOf = (name: string, error: unknown): unknown => {
  if (!(error instanceof Error) || error instanceof StoreError) return error;
  const state = sqlState(error);
  if (state === undefined) return new StoreError("unavailable", `${name}: ${error.message}`, { cause: error });
  if (state === "PD409") return new StoreError("conflict", error.message, { cause: error });
  if (DAMAGED.test(state)) {
    return new StoreError("damaged", `${name}: its data is damaged (${error.message})`, { cause: error });
  }
  const known = unavailable.find(([states]) => states.test(state));
  if (known === undefined) return error;
  return new StoreError("unavailable", `${name}: ${known[1]} (${error.message})`, { cause: error });
};
