// Large output: kept whole as a task file, while the log gets head, tail, size and path. One cap over all parts.
import { text, type Content } from "../core/messages.ts";
import type { Call } from "../core/state.ts";
import { execOf, stateOf, type Run } from "./run.ts";
import { untilAnswered } from "./until-answered.ts";

/** Task files of this folder are put on disk before a tool runs. */
const FOLDER = "outputs";
/** Where they stand in the workspace. */
export const spillPath = (name: string): string => `.perdure/${name}`;

export const charsOf = (content: Content): number =>
  content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);

/** At most `limit` UTF-16 units from the start, never splitting a code point. */
export const headOf = (value: string, limit: number): string => {
  const last = value.charCodeAt(limit - 1);
  const splits = value.length > limit && last >= 0xd800 && last <= 0xdbff;
  return value.slice(0, Math.max(0, splits ? limit - 1 : limit));
};

export const tailOf = (value: string, limit: number): string => {
  const start = Math.max(0, value.length - limit);
  const first = value.charCodeAt(start);
  const splits = start > 0 && first >= 0xdc00 && first <= 0xdfff;
  return value.slice(splits ? start + 1 : start);
};

const encoder = new TextEncoder();

/** A result this short is shorter than the preview that would stand in its place. */
const LEAST = 200;

/** What is left for this result: its own limit, and what the reply's other results left of theirs. */
const limitFor = (run: Run, own: number): number => {
  const used = stateOf(run).calls.reduce((sum, call) => sum + charsOf(call.result?.content ?? []), 0);
  return Math.max(LEAST, Math.min(own, run.ports.limits.replyChars - used));
};

/** Keeps a file of the task. Safe to do twice, so that a busy store does not cost a result. */
const keep = (run: Run, name: string, mediaType: string, bytes: Uint8Array): Promise<void> =>
  untilAnswered(run.ports, run.lease.lost, () =>
    run.ports.store.putFile({ taskId: run.claim.taskId, name, mediaType, bytes }),
  );

/** The content for the log: as it is, or cut to a preview of a task file that holds it whole. */
export const spill = async (run: Run, call: Call, content: Content, ownLimit: number | undefined): Promise<Content> => {
  const limit = limitFor(run, ownLimit ?? run.ports.limits.outputChars);
  const size = charsOf(content);
  if (size <= limit) return content;
  const whole = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const name = `${FOLDER}/${call.id}.txt`;
  const bytes = encoder.encode(whole);
  await keep(run, name, "text/plain", bytes);
  await putOnDisk(run, name, bytes);
  const half = Math.floor(Math.min(limit, 8_000) / 2);
  const note = `[${String(size)} characters; the whole output is in ${spillPath(name)}]`;
  const preview = `${headOf(whole, half)}\n…\n${tailOf(whole, half)}\n${note}`;
  return [text(preview), ...content.filter((part) => part.type !== "text")];
};

/** Details for front ends, or where to find them when they are too large for the log. */
export const spillDetails = async (run: Run, call: Call, details: unknown): Promise<unknown> => {
  const whole = JSON.stringify(details);
  if (whole.length <= run.ports.limits.outputChars) return details;
  const file = `${FOLDER}/${call.id}.json`;
  await keep(run, file, "application/json", encoder.encode(whole));
  return { file, size: whole.length };
};

const putOnDisk = async (run: Run, name: string, bytes: Uint8Array): Promise<void> => {
  if (stateOf(run).settings.workspace === undefined) return;
  const write = async (): Promise<unknown> => (await execOf(run)).writeFile({ path: spillPath(name), bytes });
  // The file is a convenience for tools: the store has it, and an unwritable workspace shows when a tool uses it.
  await write().catch(() => undefined);
};

/** Puts spilled outputs that are missing here on disk: the task may have been elsewhere before. */
export const putOutputsOnDisk = async (run: Run): Promise<void> => {
  if (stateOf(run).settings.workspace === undefined) return;
  const { taskId } = run.claim;
  const exec = await execOf(run);
  // What this claim spills stands there already.
  if (run.exec?.hasOutputs !== false) return;
  run.exec.hasOutputs = true;
  for (const { name } of await run.ports.store.listFiles({ taskId })) {
    if (!name.startsWith(`${FOLDER}/`)) continue;
    const there = await exec.stat(spillPath(name)).catch(() => null);
    if (there !== null) continue;
    const file = await run.ports.store.getFile({ taskId, name });
    if (file !== null) await putOnDisk(run, name, file.bytes);
  }
};
