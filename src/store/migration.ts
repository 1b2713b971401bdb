// Numbered SQL files, in order: how a database's schema comes about.
import { readdirSync, readFileSync } from "node:fs";

/** Brings a database from `version` - 1 to `version`. */
export interface Migration {
  readonly version: number;
  readonly sql: string;
}

/** The migrations of a folder, in order, from version 1 on. Throws where one is missing or out of order. */
export const readMigrations = (folder: URL): readonly Migration[] =>
  readdirSync(folder)
    .sort()
    .map((file, index) => {
      const version = Number(file.slice(0, 4));
      if (version !== index + 1) throw new Error(`migration ${file} is out of order`);
      return { version, sql: readFileSync(new URL(file, folder), "utf8") };
    });
