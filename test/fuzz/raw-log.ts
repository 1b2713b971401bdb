// A task's events as they lie in a store, bytes and all, for tests that damage them: in memory, and in a SQLite file.
import { DatabaseSync } from "node:sqlite";
import { chainOf, digestOf, FIRST_CHAIN } from "../../src/core/envelope.ts";
import type { State } from "../../src/store/memory/state.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import { TASK } from "../../src/testing/harness.ts";

export interface RawEvent {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly body: Uint8Array;
  readonly salt: Uint8Array | null;
  readonly digest: Uint8Array;
  readonly chain: Uint8Array;
}

export interface RawLog {
  read(): RawEvent[];
  /** Puts these events in place of those that are there. `lastSeq`: what the row says of the log; memory keeps no count. */
  write(events: readonly RawEvent[], lastSeq: number): void;
}

export const rawLogInMemory = (state: State): RawLog => {
  const eventsOf = () => {
    const task = state.tasks.get(TASK);
    if (task === undefined) throw new Error("the store has no such task");
    return task.events;
  };
  return {
    read: () => eventsOf().map(({ content, ...event }) => ({ ...event, body: content })),
    write: (events) => {
      const stored = events.map(({ body, ...event }) => ({ ...event, content: body }));
      eventsOf().splice(0, Infinity, ...stored);
    },
  };
};

interface Stored {
  readonly seq: number;
  readonly at: number;
  readonly name: string;
  readonly salt: Uint8Array | null;
  readonly chain: Uint8Array;
  readonly body: Uint8Array;
  /** Of the event, where it was redacted. */
  readonly eventDigest: Uint8Array | null;
}

const INSERT = `INSERT INTO events (task, seq, at, type, salt, chain, body)
  VALUES (?, ?, ?, (SELECT type FROM types WHERE name = ?), ?, ?, ?)`;

/** Through a connection of its own, which is closed after each use. */
export const rawLogInFile = (path: string): RawLog => {
  const using = <T>(use: (database: DatabaseSync, task: number) => T): T => {
    const database = new DatabaseSync(path, { timeout: 5_000 });
    try {
      const { task } = database.prepare("SELECT task FROM tasks WHERE id = ?").get(TASK) as { task: number };
      return use(database, task);
    } finally {
      database.close();
    }
  };
  return {
    read: () =>
      using((database, task) => {
        const sql = `SELECT e.seq, at, name, salt, e.chain, e.body, eventDigest FROM events e JOIN types USING (type)
          LEFT JOIN redactions r ON r.task = e.task AND r.seq = e.seq WHERE e.task = ? ORDER BY e.seq`;
        const rows = database.prepare(sql).all(task) as unknown as Stored[];
        return rows.map(({ name, eventDigest, ...row }) => ({
          ...row,
          type: name,
          digest:
            row.salt === null
              ? (eventDigest ?? new Uint8Array(32))
              : digestOf(nodeHasher, row.salt, Buffer.from(row.body).toString("utf8")),
        }));
      }),
    write: (events, lastSeq) =>
      using((database, task) => {
        database.exec("BEGIN IMMEDIATE");
        database.prepare("DELETE FROM events WHERE task = ?").run(task);
        for (const { seq, at, type, salt, chain, body } of events) {
          database.prepare("INSERT INTO types (name) VALUES (?) ON CONFLICT (name) DO NOTHING").run(type);
          database.prepare(INSERT).run(task, seq, at, type, salt, chain, body);
        }
        const head = events.at(-1)?.chain ?? FIRST_CHAIN;
        database.prepare("UPDATE tasks SET lastSeq = ?, head = ? WHERE task = ?").run(lastSeq, head, task);
        database.exec("COMMIT");
      }),
  };
};

/** The same events as one that writes a log would have sealed them: seqs dense, digests and chain of what is there. */
export const sealAnew = (events: readonly RawEvent[]): RawEvent[] => {
  let chain: Uint8Array = FIRST_CHAIN;
  return events.map((event, index) => {
    const seq = index + 1;
    const { type, salt, body } = event;
    const text = Buffer.from(body).toString("utf8");
    const digest = salt === null ? event.digest : digestOf(nodeHasher, salt, text);
    chain = chainOf(nodeHasher, chain, seq, type, digest);
    return { ...event, seq, digest, chain };
  });
};
