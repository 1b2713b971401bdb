// Where whoever makes the schema asks for it, the events stand in several tables of one shape, each task's in one of them, by
// a hash of its number. To statements it is the one table (decision 0030).
import { StoreError } from "../store.ts";
import type { Connection, Session } from "./connection.ts";

/** The columns and the key are the first migration's. */
const DIVIDE = `CREATE TABLE perdure.divided (LIKE perdure.events INCLUDING ALL) PARTITION BY HASH (task);
  DROP TABLE perdure.events;
  ALTER TABLE perdure.divided RENAME TO events;
  ALTER INDEX perdure.divided_pkey RENAME TO events_pkey`;

/** Notes how many there are. */
export const notePartitions = async (session: Session, partitions: number | undefined): Promise<void> => {
  await session.rows("UPDATE perdure.place SET partitions = $1", partitions ?? null);
};

/** Makes the events of a schema, which has none yet, `partitions` tables. */
export const divideEvents = async (session: Session, partitions: number): Promise<void> => {
  const parts = Array.from({ length: partitions }, (_, index) => {
    const hash = `MODULUS ${String(partitions)}, REMAINDER ${String(index)}`;
    return `CREATE TABLE perdure.events_${String(index)} PARTITION OF perdure.events FOR VALUES WITH (${hash})`;
  });
  await session.rows([DIVIDE, ...parts].join(";\n"));
  await notePartitions(session, partitions);
};

/** Refuses (`conflict`) a schema whose events were made with another number than the connection names, if it names one. */
export const requirePartitions = async (connection: Connection): Promise<void> => {
  const { name, schema, options } = connection;
  const asked = options.partitions;
  if (asked === undefined) return;
  const made = (await connection.first<{ made: number | null }>("SELECT partitions AS made FROM perdure.place"))?.made;
  if (made === asked) return;
  const are = typeof made === "number" ? `${String(made)} partitions` : "one table";
  const told = `${name}: the events of schema ${schema} are in ${are}, and partitions=${String(asked)} asks for others`;
  const next = "leave the number out to open it as it is; a backup that is restored with the number comes to have it";
  throw new StoreError("conflict", `${told}; ${next}`);
};
