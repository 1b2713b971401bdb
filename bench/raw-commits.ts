// The floor under everything that is durable: one row, one commit, nothing else.
import { join } from "node:path";
import { textAt } from "./corpus.ts";
import { openPlain } from "./sqlite-files.ts";

/** The mean of the events of a log of the seed's kind. */
const BODY_CHARS = 650;

export interface RawCommits {
  /** Commits per second, over `count` of them. */
  run(count: number): number;
  close(): void;
}

export const openRawCommits = (folder: string): RawCommits => {
  const database = openPlain(join(folder, "raw.db"));
  database.exec(`CREATE TABLE IF NOT EXISTS events (
    task TEXT, seq INTEGER, at INTEGER, type TEXT, body TEXT, PRIMARY KEY (task, seq)) WITHOUT ROWID`);
  const insert = database.prepare("INSERT INTO events VALUES ('task', ?, ?, 'ToolFinished', ?)");
  let seq = 0;
  return {
    run: (count) => {
      const before = performance.now();
      for (let index = 0; index < count; index += 1) {
        seq += 1;
        insert.run(seq, Date.now(), textAt(seq, BODY_CHARS));
      }
      return (count / (performance.now() - before)) * 1_000;
    },
    close: () => {
      database.close();
    },
  };
};
