// The files of one request, loaded and checked before it is made: each is shown, or a note says why it is not.
import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from "@ai-sdk/provider";
import type { Content, FilePart, Message } from "../../core/messages.ts";
import type { ModelContext } from "../model.ts";
import { base64Chars, faultOf, plainMediaType, type FileRules } from "./file-rules.ts";

interface Shown {
  readonly part: LanguageModelV4FilePart | LanguageModelV4TextPart;
  /** It is not shown: the note that stands in its place. */
  readonly note?: string;
}

export interface ShownFiles {
  /** What stands in the request for a file of its messages. */
  partFor(file: FilePart): Shown["part"];
  /** Notes on files that came with the newest words, and are not shown. */
  readonly news: readonly string[];
}

const contentsOf = (message: Message): Content[] => {
  if (message.role === "user") return [message.content];
  return message.role === "tool" ? message.results.map(({ content }) => content) : [];
};

const filesIn = (messages: readonly Message[]): FilePart[] =>
  messages.flatMap(contentsOf).flatMap((content) => content.filter((part): part is FilePart => part.type === "file"));

/** The same file may stand in several messages; as what it was attached is part of what it is. */
const keyOf = ({ name, mediaType, size }: FilePart): string => JSON.stringify([name, mediaType, size]);

/** The name as the person gave it: task files lie in folders of their own. */
const shortName = (name: string): string => name.slice(name.lastIndexOf("/") + 1).toWellFormed();

const noteFor = ({ name, mediaType, size }: FilePart, fault: string): Shown => {
  const note = `[The file ${shortName(name)} (${mediaType}, ${String(size)} bytes) is not shown: ${fault}.]`;
  return { part: { type: "text", text: note }, note };
};

const GONE = "it is not there any more";
const LONGEST_TEXT = 50_000;

/** A text file as words; null for bytes that are none, or too many. */
const textOf = (mediaType: string, bytes: Uint8Array | null): string | null => {
  const isText = mediaType.startsWith("text/") || mediaType === "application/json";
  if (!isText || bytes === null || bytes.length > LONGEST_TEXT) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
};

const isImage = ({ mediaType }: FilePart): boolean => mediaType.startsWith("image/");

/**
 * Loads and checks the files of `messages`. Newer files go before older ones where a request cannot hold all of them.
 * Rejects as `file` does.
 */
export const showFiles = async (
  messages: readonly Message[],
  rules: FileRules,
  load: ModelContext["file"],
): Promise<ShownFiles> => {
  const shown = new Map<string, Shown>();
  const all = filesIn(messages);
  const images = all.filter(isImage).length;
  let chars = 0;
  let count = 0;
  const show = async (file: FilePart): Promise<Shown> => {
    const bytes = (await load?.(file.name)) ?? null;
    const mediaType = plainMediaType(file.mediaType);
    const words = textOf(mediaType, bytes?.length === file.size ? bytes : null);
    if (words !== null) return { part: { type: "text", text: `[The file ${shortName(file.name)}:]\n${words}` } };
    const fault = faultOf({ mediaType, size: file.size, bytes }, rules, images);
    if (fault !== null || bytes === null) return noteFor(file, fault ?? GONE);
    const times = all.filter((each) => keyOf(each) === keyOf(file)).length;
    const size = base64Chars(bytes.length) * times;
    if (count + times > rules.maxFiles || chars + size > rules.maxRequestChars)
      return noteFor(file, "one request cannot hold it beside the newer ones");
    chars += size;
    count += times;
    const data = { type: "data", data: bytes } as const;
    return { part: { type: "file", mediaType, filename: shortName(file.name), data } };
  };
  for (const file of all.toReversed()) {
    if (!shown.has(keyOf(file))) shown.set(keyOf(file), await show(file));
  }
  const shownFor = (file: FilePart): Shown => shown.get(keyOf(file)) ?? noteFor(file, GONE);
  const newest = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  return {
    partFor: (file) => shownFor(file).part,
    news: filesIn(newest).flatMap((file) => shownFor(file).note ?? []),
  };
};
