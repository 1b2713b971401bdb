// Another process that is in the way: node lock-process.ts <path> <write|read>. It holds the database's lock, or reads one
// state of it, until it is told to let go.
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";

const [path = "", how = ""] = process.argv.slice(2);
const database = new DatabaseSync(path, { timeout: 5_000 });
database.exec(how === "write" ? "BEGIN IMMEDIATE" : "BEGIN");
const count = (): unknown => database.prepare("SELECT count(*) AS events FROM events").get()?.["events"];
const before = count();
process.send?.("holds");
await once(process, "message");
// What it reads is what it read.
process.send?.({ same: count() === before });
database.exec("COMMIT");
database.close();
process.disconnect();
