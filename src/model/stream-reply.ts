// A reply that is there at once, given as a stream: for models that compute their answer instead of receiving it.
import { ModelError, type ModelPart, type ModelReply } from "./model.ts";

/** Deltas of one text. */
const CHUNKS = 4;

/** `text` in a few pieces, cut between code points. */
const chunksOf = (text: string): string[] => {
  const points = Array.from(text);
  const size = Math.max(1, Math.ceil(points.length / CHUNKS));
  return Array.from({ length: Math.ceil(points.length / size) }, (_, index) =>
    points.slice(index * size, (index + 1) * size).join(""),
  );
};

const deltasOf = (reply: ModelReply): ModelPart[] => {
  let calls = 0;
  return reply.message.parts.flatMap((part): ModelPart[] => {
    if (part.type !== "call") return chunksOf(part.text).map((delta) => ({ type: part.type, delta }));
    const index = calls++;
    return chunksOf(JSON.stringify(part.input)).map((delta) => ({ type: "call", index, name: part.name, delta }));
  });
};

/** Throws `aborted` if `signal` is. */
export const checkAborted = (signal: AbortSignal): void => {
  if (signal.aborted) throw new ModelError("aborted", "the call was stopped", { cause: signal.reason });
};

/** The reply's deltas in a few pieces, then the reply. Throws `aborted` as soon as `signal` is. */
export function* streamReply(reply: ModelReply, signal: AbortSignal): Generator<ModelPart> {
  for (const part of [...deltasOf(reply), { type: "reply", reply } as const]) {
    checkAborted(signal);
    yield part;
  }
}
