// Runs the contract suite on the Postgres store as it is behind a transaction pooler: nothing prepared, no NOTIFY, no LISTEN;
// and in a schema of another name.
import { postgresContract } from "./contract.ts";

postgresContract("the Postgres store behind a pooler", { restores: "in place", notify: false, schema: "other_name" });
