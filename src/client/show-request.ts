// The model request at one seq, built again from the log alone, and whether it is the one that was announced there.
import type { EventOf } from "../core/events.ts";
import { fold } from "../core/fold.ts";
import {
  buildPrefix,
  buildRequest,
  hashPrefix,
  hashRequest,
  type ModelRequest,
  type ToolDefinition,
} from "../core/request.ts";
import type { TaskState } from "../core/state.ts";
import { ClientError, type Client } from "./client.ts";
import { findTask } from "./find-task.ts";
import { readEvents } from "./read-log.ts";

export interface RequestView {
  readonly taskId: string;
  readonly seq: number;
  readonly attempt: number;
  readonly recordedHash: string;
  /** Hashed from the start; null where the hashes cannot be compared. */
  readonly rebuiltHash: string | null;
  readonly same: boolean | null;
  /** Why they differ or cannot be compared; null where they are the same. */
  readonly why: string | null;
  readonly request: ModelRequest;
}

const definitionsOf = async (client: Client, state: TaskState): Promise<Map<string, ToolDefinition>> => {
  const hashes = state.tools.map((tool) => tool.definition);
  const stored = await client.store.getDefinitions({ hashes });
  return new Map(stored.map(({ hash, text }) => [hash, JSON.parse(text) as ToolDefinition]));
};

type Comparison = Pick<RequestView, "rebuiltHash" | "same" | "why">;

const compare = async (
  client: Client,
  taskId: string,
  called: EventOf<"ModelCalled">,
  request: ModelRequest,
): Promise<Comparison> => {
  const row = await client.store.getTask({ taskId });
  if (row?.revision !== called.revision) {
    const why = "a redaction since then replaced the key that the recorded hash was made with";
    return { rebuiltHash: null, same: null, why };
  }
  const mac = client.mac(await client.store.getSecret({ taskId }));
  const { messages, cacheAt: _, ...prefix } = request;
  const prefixHash = hashPrefix(prefix, mac);
  const { hash } = hashRequest(messages, prefixHash, mac);
  if (hash === called.requestHash) return { rebuiltHash: hash, same: true, why: null };
  const where =
    prefixHash !== called.prefixHash
      ? "the parameters, the system prompt or the tools"
      : messages.length !== called.messages
        ? `the number of messages (${String(called.messages)} then, ${String(messages.length)} now)`
        : "a message";
  return { rebuiltHash: hash, same: false, why: `it differs in ${where}` };
};

/** Codes: `not_found`, `ambiguous`, `unreadable`, `refused` (no request of a turn at that seq). */
export const showRequest = async (client: Client, idOrPrefix: string, seq: number): Promise<RequestView> => {
  const { taskId, lastSeq } = await findTask(client, idOrPrefix);
  const events = await readEvents(client.store, { taskId, through: seq });
  const called = events.pop();
  if (called?.seq !== seq) {
    throw new ClientError("refused", `task ${taskId} has no event ${String(seq)}: its log ends at ${String(lastSeq)}`);
  }
  const { event } = called;
  if (event.type !== "ModelCalled" || event.purpose !== "turn") {
    const calls = await readEvents(client.store, { taskId });
    const seqs = calls.flatMap((each) => (each.event.type === "ModelCalled" ? [each.seq] : []));
    const known = seqs.length === 0 ? "it has none" : `they are at ${seqs.join(", ")}`;
    throw new ClientError("refused", `event ${String(seq)} of task ${taskId} is no model request of a turn; ${known}`);
  }
  const state = fold(taskId, events, {});
  const request = buildRequest(state, buildPrefix(state, await definitionsOf(client, state)));
  const comparison = await compare(client, taskId, event, request);
  return { taskId, seq, attempt: event.attempt, recordedHash: event.requestHash, ...comparison, request };
};
