// Files that come with what a person says. They are kept with the task before the words are posted, so that no worker ever
// sees the one without the other.
import type { FilePart } from "../core/messages.ts";
import type { Store } from "../store/store.ts";

export interface Attachment {
  /** As the person calls it; what stands before a slash is left out. */
  readonly name: string;
  /** Such as `image/png`. Whether the bytes are that, and whether a model takes them, is seen when it is asked. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Task files that were attached lie here, by the key of the item that names them. They are never written again. */
const FOLDER = "attached";

const plainName = (name: string): string => {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  const plain = last.replace(/\p{C}/gu, "").trim();
  return plain === "" || plain === "." || plain === ".." ? "file" : plain;
};

/**
 * Keeps the files of the item with that key, and gives the parts that the item names them by. Repeatable with the same
 * files. Codes: those of the store's `putFile`.
 */
export const attachFiles = async (
  store: Store,
  params: { readonly taskId: string; readonly key: string; readonly files: readonly Attachment[] },
): Promise<FilePart[]> => {
  const parts: FilePart[] = [];
  for (const [index, { name, mediaType, bytes }] of params.files.entries()) {
    const kept = `${FOLDER}/${params.key}/${String(index + 1)}/${plainName(name)}`;
    await store.putFile({ taskId: params.taskId, name: kept, mediaType, bytes });
    parts.push({ type: "file", name: kept, mediaType, size: bytes.length });
  }
  return parts;
};
