// What of a database's URL is the store's own, and how a person may see the URL.
import { StoreError } from "../store.ts";

export interface UrlSettings {
  /** The URL without the store's own parameters. */
  readonly url: string;
  readonly schema?: string;
  readonly notify?: boolean;
  readonly max?: number;
  readonly partitions?: number;
}

const bad = (told: string): StoreError => new StoreError("unavailable", told);

/** Refuses a number of partitions that is none. */
export const checkPartitions = (partitions: number | undefined): void => {
  if (partitions === undefined || (Number.isInteger(partitions) && partitions >= 2 && partitions <= 256)) return;
  throw bad(`partitions is a number from 2 to 256, not ${String(partitions)}; without it there is one table`);
};

/**
 * Takes `schema`, `notify` (on, off), `max` and `partitions` out of the parameters. Codes: `unavailable` where one makes no
 * sense.
 */
export const fromUrl = (text: string): UrlSettings => {
  if (!URL.canParse(text))
    throw bad("the URL of the database cannot be read; it looks like postgres://user@host/database");
  const url = new URL(text);
  const take = (name: string): string | undefined => {
    const value = url.searchParams.get(name) ?? undefined;
    url.searchParams.delete(name);
    return value;
  };
  const [schema, notify, max, partitions] = [take("schema"), take("notify"), take("max"), take("partitions")];
  if (notify !== undefined && !["on", "off"].includes(notify)) throw bad(`notify in a URL is on or off, not ${notify}`);
  if (max !== undefined && !/^[1-9]\d{0,3}$/.test(max))
    throw bad(`max in a URL is a number of connections, not ${max}`);
  if (partitions !== undefined) checkPartitions(/^\d+$/.test(partitions) ? Number(partitions) : NaN);
  return {
    url: url.href,
    ...(schema === undefined ? {} : { schema }),
    ...(notify === undefined ? {} : { notify: notify === "on" }),
    ...(max === undefined ? {} : { max: Number(max) }),
    ...(partitions === undefined ? {} : { partitions: Number(partitions) }),
  };
};

/** Refuses a name that would not stand in a statement as it is. */
export const checkSchema = (schema: string): void => {
  if (/^[a-z_][a-z0-9_]{0,47}$/.test(schema)) return;
  throw bad(`a schema is named in a-z, 0-9 and _, with at most 48 of them, not ${JSON.stringify(schema)}`);
};

/** The URL without its password. */
export const shownUrl = (text: string): string => {
  if (!URL.canParse(text)) return "the Postgres database";
  const url = new URL(text);
  url.password = "";
  return url.href;
};
