// What a redaction puts in place of an event or an item. The only place where a store reads what it keeps.
import { CodecError, decodeEvent, decodeItem, encodeEvent, encodeItem } from "../core/codec.ts";
import { tombstoneDigest } from "../core/envelope.ts";
import { itemSkeleton, skeletonOf } from "../core/redact.ts";
import { nodeHasher } from "./node-hasher.ts";
import { StoreError } from "./store.ts";

const refusing = <T>(what: string, work: () => T): T => {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof CodecError)) throw cause;
    if (cause.code === "newer_version") {
      throw new StoreError("newer_version", `${what} was written by a newer version; redact it there`, { cause });
    }
    throw new StoreError("damaged", `${what} cannot be read, so its skeleton cannot be told from its content`, {
      cause,
    });
  }
};

/**
 * The skeleton's JSON text and what the list of redactions must hold for it. Codes: `newer_version` (only that version
 * knows what is content), `damaged`.
 */
export const eventTombstone = (
  taskId: string,
  event: { readonly seq: number; readonly type: string; readonly body: string },
): { readonly body: string; readonly digest: Uint8Array } =>
  refusing(`event ${String(event.seq)} of task ${taskId}`, () => {
    const body = encodeEvent(skeletonOf(decodeEvent(event.type, event.body)));
    return { body, digest: tombstoneDigest(nodeHasher, event.type, body) };
  });

/** An untaken item's skeleton as JSON text. Codes as above. */
export const itemTombstone = (taskId: string, item: { readonly seq: number; readonly body: string }): string =>
  refusing(`inbox item ${String(item.seq)} of task ${taskId}`, () => encodeItem(itemSkeleton(decodeItem(item.body))));
