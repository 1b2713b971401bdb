// The floor under a wake on Postgres: a post, a notification, a claim and an append by hand, each a commit of its own.
import type pg from "pg";
import { connect } from "./server.ts";

const SCHEMA = `CREATE SCHEMA hand;
  CREATE TABLE hand.tasks (id text PRIMARY KEY, seq integer NOT NULL, inbox_seq integer NOT NULL, taken integer NOT NULL,
    fence integer NOT NULL, lease bigint NOT NULL) WITH (fillfactor = 50);
  CREATE TABLE hand.inbox (task text, seq integer, body text NOT NULL, PRIMARY KEY (task, seq));
  CREATE TABLE hand.events (task text, seq integer, body text NOT NULL, PRIMARY KEY (task, seq));
  INSERT INTO hand.tasks VALUES ('task', 0, 0, 0, 0, 0)`;

const POST = `WITH t AS (UPDATE hand.tasks SET inbox_seq = inbox_seq + 1 WHERE id = 'task' RETURNING inbox_seq)
  INSERT INTO hand.inbox SELECT 'task', inbox_seq, $1 FROM t`;
const CLAIM = `UPDATE hand.tasks SET fence = fence + 1, lease = $1 WHERE id = (SELECT id FROM hand.tasks
  WHERE inbox_seq > taken AND lease < $2 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) RETURNING seq, inbox_seq, taken, fence`;
const LOAD = `(SELECT 0 AS what, seq, body FROM hand.events WHERE task = 'task' ORDER BY seq DESC LIMIT 20)
  UNION ALL SELECT 1, seq, body FROM hand.inbox WHERE task = 'task' AND seq > $1`;
const APPEND = `WITH t AS (UPDATE hand.tasks SET seq = seq + 1, taken = $1, lease = 0 WHERE id = 'task' AND fence = $2
    RETURNING seq) INSERT INTO hand.events SELECT 'task', seq, $3 FROM t`;
export const CHANNEL = "hand";

interface TaskRow {
  readonly inbox_seq: number;
  readonly taken: number;
  readonly fence: number;
}

export class HandWritten {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  static async make(url: string): Promise<HandWritten> {
    const hand = new HandWritten(await connect(url));
    await hand.#client.query(SCHEMA);
    return hand;
  }

  static async open(url: string): Promise<HandWritten> {
    return new HandWritten(await connect(url));
  }

  async post(text: string): Promise<void> {
    await this.#client.query({ name: "post", text: POST, values: [JSON.stringify({ type: "Say", text })] });
  }

  async notify(): Promise<void> {
    await this.#client.query({ name: "notify", text: "SELECT pg_notify($1, '')", values: [CHANNEL] });
  }

  /** Claims the task, if there is something in its inbox, and appends that to its log. Whether there was. */
  async claimAndAppend(): Promise<boolean> {
    const now = Date.now();
    const claimed = await this.#client.query<TaskRow>({ name: "claim", text: CLAIM, values: [now + 5_000, now] });
    const row = claimed.rows[0];
    if (row === undefined) return false;
    const loaded = await this.#client.query<{ what: number; body: string }>({
      name: "load",
      text: LOAD,
      values: [row.taken],
    });
    const parsed = loaded.rows.map(({ what, body }) => ({ what, item: JSON.parse(body) as unknown }));
    const items = parsed.filter(({ what }) => what === 1).map(({ item }) => item);
    const values = [row.inbox_seq, row.fence, JSON.stringify({ type: "InputTaken", items })];
    const appended = await this.#client.query({ name: "append", text: APPEND, values });
    if (appended.rowCount !== 1) throw new Error("the claim was lost");
    return true;
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}
