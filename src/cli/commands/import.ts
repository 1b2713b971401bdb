// perdure import: a task out of a bundle, under a new id. It goes on with nothing by itself.
import { readFile, realpath } from "node:fs/promises";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { decodeBundle, type DatedBundle } from "../../client/bundle-file.ts";
import { importBundle } from "../../client/bundles.ts";
import { showTask } from "../../client/show-task.ts";
import type { Settings } from "../../core/items.ts";
import { nodeHasher } from "../../store/node-hasher.ts";
import { defineCommand, UsageError } from "../command.ts";
import { counted } from "../database.ts";
import { CommandError } from "../failure.ts";
import type { Program } from "../program.ts";
import { createSession, loadSettings } from "../session.ts";

const readBundle = async ({ cwd }: Program, file: string): Promise<DatedBundle> => {
  const bytes = await readFile(resolve(cwd, file)).catch((cause: unknown) => {
    throw new CommandError(`cannot read ${file}: ${(cause as Error).message}`, { cause });
  });
  return decodeBundle(nodeHasher, bytes, file);
};

const workspaceAt = async ({ cwd }: Program, folder: string): Promise<NonNullable<Settings["workspace"]>> => {
  const path = await realpath(resolve(cwd, folder)).catch((cause: unknown) => {
    throw new CommandError(`there is no folder ${folder} for its tools to work in`, { cause });
  });
  return { host: hostname(), path };
};

/** Its tools worked on another machine: nobody here could claim it. */
const requireHost = (file: string, { bundle }: DatedBundle): void => {
  const elsewhere = bundle.row.requires.find((need) => need.startsWith("host:") && need !== `host:${hostname()}`);
  if (elsewhere === undefined || bundle.row.status === "ended") return;
  const host = elsewhere.slice("host:".length);
  throw new CommandError(
    `the tools of the task in ${file} worked in a folder on ${host}, which is not in it: name one here with --workspace FOLDER`,
  );
};

export const importCommand = defineCommand({
  name: "import",
  summary: "take a task in from a bundle, under a new id; it waits until it is resumed",
  words: { file: "required" },
  options: {
    expect: { type: "string", value: "HEAD", about: "refuse a log that does not have this head" },
    workspace: { type: "string", value: "FOLDER", about: "where its tools work from now on" },
  },
  notes: [
    "The log is verified first: a bundle that was changed or cut is refused, and nothing of it is kept. A turn that was",
    "under way pauses, approvals are void, and actions that were under way are unknown: where it came from, it may have",
    "gone on. Its owner alone may import it (--as).",
  ].join("\n"),
  perform: async (program, { options, words: { file } }) => {
    const { expect, workspace } = options;
    if (expect !== undefined && !/^[0-9a-f]{64}$/i.test(expect)) {
      throw new UsageError("--expect must be a head: 64 hexadecimal digits");
    }
    const dated = await readBundle(program, file);
    if (workspace === undefined) requireHost(file, dated);
    const given = await loadSettings(program, options);
    await using session = await createSession(program, options, given);
    const { client, again } = session;
    const receipt = await importBundle(client, {
      ...dated,
      ...(expect === undefined ? {} : { expect }),
      ...(workspace === undefined ? {} : { workspace: await workspaceAt(program, workspace) }),
    });
    const { taskId, from, lastSeq } = receipt;
    if (options.json === true) program.output.json({ ...receipt, task: await showTask(client, taskId) });
    else program.output.print(taskId);
    const made = new Date(dated.exportedAt).toISOString();
    program.output.tell(`task ${taskId}: ${counted(lastSeq, "event")} of task ${from}, as of ${made}`);
    program.output.tell(`look before you let it go on: ${again(`show ${taskId}`)}, then ${again(`resume ${taskId}`)}`);
    return 0;
  },
});
