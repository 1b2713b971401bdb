// How a claim is given up whose task this build cannot run: held, left to a newer version, or ended where its log is damaged.
import type { Claim } from "../store/store.ts";
import { endFromRow } from "./end-from-row.ts";
import type { Loaded } from "./load.ts";
import type { RunnerPorts } from "./ports.ts";
import type { RunEnd, RunOptions } from "./runner.ts";

const HOLD_FIRST_MS = 1_000;
const HOLD_LAST_MS = 300_000;

/** Gives a claim back for another build, or an operator, to go on with; this build tries again later and later. */
export const hold = async (ports: RunnerPorts, claim: Claim, reason: string): Promise<RunEnd> => {
  const { taskId, fence, holds } = claim;
  ports.watcher.note?.(taskId, `held: ${reason}`);
  const retryAfterMs = Math.min(HOLD_LAST_MS, HOLD_FIRST_MS * 2 ** holds);
  await ports.store.release({ taskId, fence, kind: "held", reason, build: ports.build, retryAfterMs });
  return "held";
};

/** After its lease ran out, so many leases long, this build leaves such a task to those that can read it. */
const LEFT_ALONE_LEASES = 2;

/** Writes nothing to the log, and lets the lease lapse. */
export const leaveAlone = async (ports: RunnerPorts, { taskId, fence, attempts }: Claim): Promise<RunEnd> => {
  const { store, build, limits } = ports;
  const backOffMs = (1 + LEFT_ALONE_LEASES) * limits.leaseMs;
  await store.letLapse({ taskId, fence, attempts, build, backOffMs }).catch((error: unknown) => {
    ports.watcher.note?.(taskId, `it is left alone, which the store was not told: ${String(error)}`);
  });
  return "newer";
};

/** After this many claims in a row that find a damaged log, the task ends. */
const DAMAGED_CLAIMS = 3;

/** What becomes of a claim whose log did not load. */
export const refuse = async (
  ports: RunnerPorts,
  claim: Claim,
  loaded: Extract<Loaded, { ok: false }>,
  { damagedBefore }: Pick<RunOptions, "damagedBefore">,
): Promise<RunEnd> => {
  ports.watcher.note?.(claim.taskId, loaded.message);
  if (loaded.why === "newer") return leaveAlone(ports, claim);
  if (loaded.why === "held") return hold(ports, claim, loaded.message);
  if (damagedBefore + 1 < DAMAGED_CLAIMS) {
    await hold(ports, claim, loaded.message);
    return "damaged";
  }
  await endFromRow(ports, claim);
  return "ended";
};
