// What the task has seen of files: of each the content's hash when it was last read or written here. So an Edit after a
// crash, on another worker, still knows what was read.
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import type { Reducer } from "../../core/state.ts";
import type { FileContent } from "../../exec/exec.ts";
import { NothingHappened, type ToolContext } from "../plugin.ts";
import { nameOf } from "./files.ts";

/** The paths that are remembered; the state must not grow with the task's age. */
export const KEPT_PATHS = 200;

/** `digest` is keyed with the task's secret; `path` is relative to the workspace. */
const Seen = Type.Object({
  path: Type.String(),
  digest: Type.String(),
  size: Type.Integer(),
  mtimeMs: Type.Number(),
});
type Seen = Static<typeof Seen>;

interface FsState {
  /** Newest last. */
  readonly files: readonly Seen[];
}

const seen = Compile(Seen);

/** Folds `fs/read` and `fs/write`, which are alike. A record that lost its content in a redaction says nothing. */
export const reducer: Reducer = {
  initial: (): FsState => ({ files: [] }),
  reduce(state, { data }) {
    if (!seen.Check(data)) return state;
    const others = (state as FsState).files.filter(({ path }) => path !== data.path);
    return { files: [...others, data].slice(-KEPT_PATHS) } satisfies FsState;
  },
};

type Content = Pick<FileContent, "path" | "digest" | "size" | "mtimeMs">;

/** Records what a file holds now, after it was read or written. */
export const recordSeen = (context: ToolContext, kind: "read" | "write", file: Content): void => {
  const { digest, size, mtimeMs } = file;
  const data: Seen = { path: nameOf(context.exec, file.path), digest: context.mac(digest), size, mtimeMs };
  context.record({ kind, data });
};

/** What was last seen of the file; undefined if nothing. */
export const lastSeen = (context: ToolContext, path: string): Seen | undefined =>
  (context.state as FsState).files.find((file) => file.path === path);

export const isAsSeen = (context: ToolContext, file: Content, known: Seen | undefined): boolean =>
  known?.digest === context.mac(file.digest);

/** Throws unless the file was read, or written, by this task and holds the same still. */
export const requireSeen = (context: ToolContext, file: Content): void => {
  const path = nameOf(context.exec, file.path);
  const known = lastSeen(context, path);
  if (known === undefined) {
    throw new NothingHappened(`${path} exists and this task has not read it. Read it first, then try again.`);
  }
  if (isAsSeen(context, file, known)) return;
  // A redaction gives the task another secret: nothing hashed before can be compared any more.
  const untouched = known.size === file.size && known.mtimeMs === file.mtimeMs;
  const why = untouched
    ? "was read before this task's content was redacted, so it cannot be compared any more"
    : "has changed since this task last saw it";
  throw new NothingHappened(`${path} ${why}. Read it again, then try again.`);
};
