// Runs the contract suite on the Postgres store as it is by default.
import { postgresContract } from "./contract.ts";

postgresContract("the Postgres store", { restores: "elsewhere" });
