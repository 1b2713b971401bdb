import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPlace, lines, viewOf, type Place } from "./perdure.ts";

const withTask = async (): Promise<{ place: Place; taskId: string; head: string }> => {
  const place = createPlace();
  place.write("a.txt", "hello world");
  place.write("s.jsonl", lines({ calls: [{ name: "Read", input: { file_path: "a.txt" } }] }, { text: "Hello." }));
  const { taskId, head } = viewOf(await place.perdure("run", "read it", "--model", "scripted:s.jsonl", "--json"));
  return { place, taskId, head };
};

/** Changes the file behind perdure's back. */
const tamper = (place: Place, sql: string): number => {
  const database = new DatabaseSync(join(place.folder, ".perdure/tasks.db"));
  try {
    return Number(database.prepare(sql).run().changes);
  } finally {
    database.close();
  }
};
