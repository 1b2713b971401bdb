// Files that a person names with --file: read, and told apart by what is in them.
import { readFileSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import type { Attachment } from "../client/attach.ts";
import { sniffMediaType } from "../model/ai-sdk/media.ts";
import { UsageError } from "./command.ts";

export const fileOption = {
  type: "string",
  multiple: true,
  value: "FILE",
  about: "an image, a PDF or a text that goes with the words; may stand several times",
} as const;

/** By the end of the name, for what has no signature of its own. */
const byName: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".html": "text/html",
  ".json": "application/json",
  ".md": "text/markdown",
  ".txt": "text/plain",
};

const mediaTypeOf = (name: string, bytes: Uint8Array): string =>
  sniffMediaType(bytes) ?? byName[extname(name).toLowerCase()] ?? "application/octet-stream";

/** Throws UsageError for a file that cannot be read. */
export const readAttachments = (cwd: string, paths: readonly string[] = []): Attachment[] =>
  paths.map((path) => {
    const name = basename(path);
    try {
      const bytes = new Uint8Array(readFileSync(resolve(cwd, path)));
      return { name, mediaType: mediaTypeOf(name, bytes), bytes };
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
      throw new UsageError(`--file ${path} cannot be read: ${code}`, { cause });
    }
  });
