// A store by its place: the folder of a SQLite file, or the URL of a Postgres database.
import { openPostgresStore } from "../src/store/postgres/postgres-store.ts";
import type { Store } from "../src/store/store.ts";
import { openStore } from "./sqlite-files.ts";

export const isPostgres = (place: string): boolean => place.startsWith("postgres://");

export const openStoreAt = (place: string): Promise<Store> =>
  isPostgres(place) ? openPostgresStore({ url: place }) : openStore(place);
