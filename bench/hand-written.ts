// The floor under a wake: a post, a claim and an append as one would write them by hand, each a commit of its own.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openPlain } from "./sqlite-files.ts";

const SCHEMA = `
  CREATE TABLE tasks (id TEXT PRIMARY KEY, seq INTEGER, inboxSeq INTEGER, taken INTEGER, fence INTEGER, lease INTEGER);
  CREATE TABLE inbox (task TEXT, seq INTEGER, body TEXT, PRIMARY KEY (task, seq)) WITHOUT ROWID;
  CREATE TABLE events (task TEXT, seq INTEGER, body TEXT, PRIMARY KEY (task, seq)) WITHOUT ROWID;
  INSERT INTO tasks VALUES ('task', 0, 0, 0, 0, 0)`;

interface TaskRow {
  readonly seq: number;
  readonly inboxSeq: number;
  readonly taken: number;
  readonly fence: number;
}

export interface HandWritten {
  post(text: string): void;
  /** Claims the task, if there is something in its inbox, and appends that to its log. Whether there was. */
  claimAndAppend(): boolean;
  close(): void;
}

export const openHandWritten = (folder: string): HandWritten => {
  const path = join(folder, "hand-written.db");
  const isNew = !existsSync(path);
  const database = openPlain(path);
  database.exec("PRAGMA busy_timeout = 5000");
  if (isNew) database.exec(SCHEMA);
  const [begin, commit] = [database.prepare("BEGIN IMMEDIATE"), database.prepare("COMMIT")];
  const transaction = <T>(work: () => T): T => {
    begin.run();
    const result = work();
    commit.run();
    return result;
  };
  const count = database.prepare("UPDATE tasks SET inboxSeq = inboxSeq + 1 WHERE id = 'task' RETURNING inboxSeq");
  const put = database.prepare("INSERT INTO inbox VALUES ('task', ?, ?)");
  const ready = database.prepare("SELECT 1 FROM tasks WHERE id = 'task' AND inboxSeq > taken");
  const take = database.prepare(`UPDATE tasks SET fence = fence + 1, lease = ? WHERE id = 'task' AND lease < ?
    RETURNING seq, inboxSeq, taken, fence`);
  const log = database.prepare("SELECT body FROM events WHERE task = 'task' ORDER BY seq DESC LIMIT 20");
  const items = database.prepare("SELECT body FROM inbox WHERE task = 'task' AND seq > ? ORDER BY seq");
  const insert = database.prepare("INSERT INTO events VALUES ('task', ?, ?)");
  const move = database.prepare("UPDATE tasks SET seq = ?, taken = ?, lease = 0 WHERE id = 'task' AND fence = ?");
  return {
    post: (text) => {
      transaction(() => {
        const { inboxSeq } = count.get() as { inboxSeq: number };
        put.run(inboxSeq, JSON.stringify({ type: "Say", text }));
      });
    },
    claimAndAppend: () => {
      if (ready.get() === undefined) return false;
      const now = Date.now();
      const row = transaction(() => take.get(now + 5_000, now)) as TaskRow | undefined;
      if (row === undefined) return false;
      for (const { body } of log.all()) JSON.parse(body as string);
      const taken = items.all(row.taken).map(({ body }) => JSON.parse(body as string) as unknown);
      transaction(() => {
        const appended = move.run(row.seq + 1, row.inboxSeq, row.fence).changes;
        if (appended !== 1) throw new Error("the claim was lost");
        insert.run(row.seq + 1, JSON.stringify({ type: "InputTaken", items: taken }));
      });
      return true;
    },
    close: () => {
      database.close();
    },
  };
};
