// Appends made-up events to a task as a runner would, row and projections with them, without running anything.
import { decodeEvent } from "../src/core/codec.ts";
import { sealEvents } from "../src/core/envelope.ts";
import type { Event } from "../src/core/events.ts";
import { createState } from "../src/core/fold.ts";
import { applyAndProject, changedColumns, columnsOf, mergeRows, type TaskColumns } from "../src/core/project.ts";
import type { TaskState } from "../src/core/state.ts";
import type { Claim, ClaimParams, CreateParams } from "../src/store/store.ts";
import type { Program } from "./program.ts";

/** Claims that are held for as long as a bench takes. */
const LEASE_MS = 600_000;

export const claimParams = (program: Program, taskId: string): ClaimParams => {
  const { agent, pins } = program.agent;
  const version = program.ports.snapshotVersion(agent.name);
  return {
    worker: "bench",
    leaseMs: LEASE_MS,
    offers: [`agent:${agent.name}`, ...pins.map((pin) => `plugin:${pin.name}`)],
    snapshotVersions: version === null ? {} : { [agent.name]: version },
    build: program.ports.build,
    taskId,
  };
};

export class LogWriter {
  readonly state: TaskState;
  /** Bytes of the events' JSON so far. */
  bytes = 0;
  readonly #program: Program;
  readonly #claim: Claim;
  #chain: Uint8Array;
  #columns: TaskColumns | undefined;

  private constructor(program: Program, claim: Claim, state: TaskState) {
    this.#program = program;
    this.#claim = claim;
    this.#chain = claim.chain;
    this.state = state;
  }

  /** Claims a task that was just created, and takes its input. */
  static async begin(program: Program, taskId: string): Promise<LogWriter> {
    const claim = await program.store.claim(claimParams(program, taskId));
    const [created] = claim?.entries ?? [];
    if (claim === null || created === undefined) throw new Error(`task ${taskId} cannot be claimed`);
    const { seq, at, type, body } = created;
    const state = createState(taskId, { seq, at, event: decodeEvent(type, body) });
    const { inbox } = claim;
    const items = inbox.map((entry) => ({ ...entry, type: "Say", text: state.objective }) as const);
    const writer = new LogWriter(program, claim, state);
    const { agent, pins, tools } = program.agent;
    const { identity, system } = agent;
    const entries = [...tools.values()].map((prepared) => prepared.entry);
    const core = (kind: string, data: unknown) =>
      ({ type: "ExtensionRecorded", extension: "core", kind, v: 1, data }) as const;
    await writer.append([
      core("prompts", { identity, system, parts: [] }),
      core("plugins", { pins, tools: entries }),
      {
        type: "InputTaken",
        items: items.map(({ seq, at, by, key, type, text }) => ({ seq, at, by, key, type, text })),
        through: inbox.at(-1)?.seq ?? 0,
      },
    ]);
    return writer;
  }

  /** `children` are created with it. */
  async append(events: readonly Event[], children: readonly CreateParams[] = []): Promise<void> {
    const { store, ports, agent } = this.#program;
    const { taskId, fence, revision } = this.#claim;
    const drafts = sealEvents(ports.hasher, { seq: this.state.seq, chain: this.#chain }, events, ports.random.salt);
    const at = Date.now();
    const rows = events.flatMap((event) =>
      applyAndProject(this.state, { seq: this.state.seq + 1, at, event }, agent.reducers),
    );
    const taken = events.findLast((event) => event.type === "InputTaken")?.through;
    const columns = columnsOf(this.state);
    await store.append({
      taskId,
      fence,
      revision,
      drafts,
      columns: changedColumns(this.#columns, columns),
      rows: mergeRows(rows),
      ...(taken === undefined ? {} : { taken }),
      children,
    });
    this.#columns = columns;
    this.#chain = drafts.at(-1)?.chain ?? this.#chain;
    for (const { body } of drafts) this.bytes += body.length;
  }

  /** Gives the claim back; the task goes on where it stands. */
  async release(): Promise<void> {
    const { taskId, fence } = this.#claim;
    await this.#program.store.release({ taskId, fence, kind: "stop" });
  }
}
