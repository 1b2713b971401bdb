// The floor under a steady loop: its own two appends, recorded once, sent again by hand with the guards of a fence and a seq
// and nothing else. No function, no array; drafts are made before.
import type pg from "pg";
import type { AppendParams, Store } from "../../src/store/store.ts";
import { claimParams } from "../log-writer.ts";
import { createLoopingModel, prepareLoopingAgent } from "../looping-agent.ts";
import { createProgram, newTask } from "../program.ts";
import { runLoop } from "../steady-loop.ts";
import { connect, withClient } from "./server.ts";

type Draft = AppendParams["drafts"][number];
type Pair = readonly [Draft, Draft];

/** One append of a loop: two events, and the row of usage where it has one. */
export interface Recorded {
  readonly drafts: Pair;
  readonly usage: Readonly<Record<string, unknown>> | undefined;
}

const CYCLES = 100;

const codes = { ModelReplied: 4, ToolStarted: 5, ToolFinished: 6, ModelCalled: 3 } as const;

/** The appends of a short loop, in their order, without those of its beginning and end. */
export const recordLoop = async (store: Store): Promise<Recorded[]> => {
  const recorded: Recorded[] = [];
  const recording: Store = {
    ...store,
    append: (params) => {
      const [one, two, ...more] = params.drafts;
      if (one !== undefined && two !== undefined && more.length === 0 && params.taken === undefined) {
        recorded.push({ drafts: [one, two], usage: params.rows[0]?.set ?? undefined });
      }
      return store.append(params);
    },
  };
  await runLoop(recording, { cycles: CYCLES });
  return recorded.filter(({ drafts }) => drafts.every(({ type }) => Object.hasOwn(codes, type)));
};

const codeOf = (type: string): number => {
  const code = codes[type as keyof typeof codes] as number | undefined;
  if (code === undefined) throw new Error(`${type} is no event of a steady loop`);
  return code;
};

const textOf = (columns: readonly string[]): string => {
  const names = columns.map((name) => `"${name}"`);
  const upsert = `, u AS (INSERT INTO perdure.usage (task, key, ${names.join()})
    SELECT $1, $11, ${names.map((_, n) => `$${String(n + 12)}`).join()} FROM row
    ON CONFLICT (task, key) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join()})`;
  return `WITH row AS (UPDATE perdure.tasks SET last_seq = $3, head = $4,
        updated_at = greatest(updated_at, perdure.clock_ms())
      WHERE task = $1 AND fence = $2 AND last_seq = $3 - 2 RETURNING updated_at AS at, inbox_seq),
    e AS (INSERT INTO perdure.events (task, seq, at, type, body, salt, chain) SELECT $1, v.* FROM row, LATERAL (VALUES
      ($3 - 1, row.at, $5::smallint, $6::bytea, $7::bytea, $8::bytea),
      ($3, row.at, $9::smallint, $10::bytea, $7::bytea, $4::bytea)) v)
    ${names.length === 0 ? "" : upsert} SELECT * FROM row`;
};

class Writer {
  readonly #client: pg.Client;
  readonly #task: number;
  readonly #fence: number;
  readonly #recorded: readonly Recorded[];
  #seq: number;
  #next = 0;

  constructor(
    client: pg.Client,
    row: { task: string; fence: string; last_seq: number },
    recorded: readonly Recorded[],
  ) {
    this.#client = client;
    this.#task = Number(row.task);
    this.#fence = Number(row.fence);
    this.#seq = row.last_seq;
    this.#recorded = recorded;
  }

  async append(): Promise<void> {
    const one = this.#recorded[this.#next % this.#recorded.length];
    if (one === undefined) throw new Error("no append was recorded");
    this.#next += 1;
    this.#seq += 2;
    const { drafts, usage } = one;
    const [first, second] = drafts;
    const values = [
      ...[this.#task, this.#fence, this.#seq, Buffer.from(second.chain), codeOf(first.type), Buffer.from(first.body)],
      ...[Buffer.from(first.salt ?? []), Buffer.from(first.chain), codeOf(second.type), Buffer.from(second.body)],
      ...(usage === undefined ? [] : ["by hand", ...Object.values(usage)]),
    ];
    const name = usage === undefined ? "hand" : "hand-usage";
    const answer = await this.#client.query({ name, text: textOf(Object.keys(usage ?? {})), values });
    if (answer.rowCount !== 1) throw new Error("the append by hand was refused");
  }

  end(): Promise<void> {
    return this.#client.end();
  }
}

export interface ByHand {
  /** Appends per second over `count` on each connection. */
  run(count: number): Promise<number>;
  close(): Promise<void>;
}

/** So many connections, each with a task of its own. */
export const openByHand = async (
  url: string,
  store: Store,
  recorded: readonly Recorded[],
  connections: number,
): Promise<ByHand> => {
  const model = createLoopingModel({ isLast: () => true });
  const program = await createProgram({ store, agent: await prepareLoopingAgent({ outputChars: 500 }), model });
  const writers: Writer[] = [];
  for (let index = 0; index < connections; index += 1) {
    const taskId = await newTask(program);
    await store.claim(claimParams(program, taskId));
    const rows = await withClient(url, (client) =>
      client.query<{ task: string; fence: string; last_seq: number }>(
        "SELECT task, fence, last_seq FROM perdure.tasks WHERE id = $1",
        [taskId],
      ),
    );
    const [row] = rows.rows;
    if (row === undefined) throw new Error(`there is no task ${taskId}`);
    writers.push(new Writer(await connect(url), row, recorded));
  }
  const loop = async (writer: Writer, count: number): Promise<void> => {
    for (let done = 0; done < count; done += 1) await writer.append();
  };
  return {
    run: async (count) => {
      const before = performance.now();
      await Promise.all(writers.map((writer) => loop(writer, count)));
      return (count * connections * 1_000) / (performance.now() - before);
    },
    close: async () => {
      for (const writer of writers) await writer.end();
    },
  };
};
