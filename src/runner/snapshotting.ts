// When the run of one claim writes snapshots: in the background, and only so often that it costs a small share of the time.
import type { Run } from "./run.ts";
import { stateOf } from "./run.ts";
import { isSnapshotDue, writeSnapshot, type SnapshotProgress } from "./snapshot.ts";

/** A snapshot that took a while is not followed by the next before this many times as long. */
const REST = 20;

export interface Snapshotting {
  /** Begins one if it is due and none is under way. `rested: false` waits for no rest: the claim is at its end. */
  consider(options?: { readonly rested: boolean }): void;
  /** Resolves when none is under way. */
  settled(): Promise<void>;
}

export const createSnapshotting = (run: Run, progress: SnapshotProgress): Snapshotting => {
  const { ports, claim, journal } = run;
  let underWay: Promise<void> | null = null;
  let restUntil = 0;
  let counted = 0;

  const write = async (version: string): Promise<void> => {
    const startedAt = ports.clock.monotonic();
    const appendedBefore = journal.appendedBytes;
    const { taskId } = claim;
    const { reducers } = run.agent;
    const kept = await writeSnapshot(ports, { taskId, version, revision: journal.revision, reducers });
    const now = ports.clock.monotonic();
    restUntil = now + (now - startedAt) * REST;
    if (kept === null) return;
    progress.seq = kept.seq;
    progress.size = kept.size;
    progress.bytesAfter = 0;
    counted = appendedBefore;
  };

  return {
    consider: ({ rested } = { rested: true }) => {
      const version = ports.snapshotVersion(run.agent.agent.name);
      if (version === null || underWay !== null || stateOf(run).ended !== undefined) return;
      if (rested && ports.clock.monotonic() < restUntil) return;
      const bytesAfter = progress.bytesAfter + journal.appendedBytes - counted;
      if (!isSnapshotDue({ ...progress, bytesAfter }, journal.committedSeq, ports.limits.snapshotEvery)) return;
      underWay = write(version)
        .catch((error: unknown) => {
          // A snapshot is never needed: the log is whole without it.
          ports.watcher.note?.(claim.taskId, `no snapshot was written: ${String(error)}`);
          restUntil = ports.clock.monotonic() + 60_000;
        })
        .finally(() => {
          underWay = null;
        });
    },
    settled: async () => {
      await underWay;
    },
  };
};
