// Runs the contract suite on the Postgres store with its events in partitions; a backup is restored into as many.
import { postgresContract } from "./contract.ts";

postgresContract("the Postgres store in partitions", { restores: "in place", partitions: 4 });
