// Task files, whole: memory has no reason for chunks.
import { byCodePoint } from "../code-points.ts";
import { findTask, type State } from "./state.ts";

export interface NamedFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export const putFile = (state: State, taskId: string, { name, mediaType, bytes }: NamedFile): void => {
  const content = state.seal.seal(bytes.slice(), taskId);
  findTask(state, taskId).files.set(name, { mediaType, size: bytes.length, content });
};

export const getFile = (state: State, taskId: string, name: string): Omit<NamedFile, "name"> | null => {
  const file = state.tasks.get(taskId)?.files.get(name);
  if (file === undefined) return null;
  return { mediaType: file.mediaType, bytes: state.seal.open(file.content, taskId).slice() };
};

export const listFiles = (state: State, taskId: string): { name: string; mediaType: string; size: number }[] =>
  [...(state.tasks.get(taskId)?.files ?? [])]
    .map(([name, { mediaType, size }]) => ({ name, mediaType, size }))
    .sort((a, b) => byCodePoint(a.name, b.name));
