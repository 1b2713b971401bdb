// Promises about front ends, their files, and the process that serves them.
import { about, type Promised } from "./promise.ts";

const { kept, without } = about("Front ends");

const lock = "src/instance-lock.test.ts";

export const frontEnds: readonly Promised[] = [
  kept(
    "Attachments stay with their task, and its words name them.",
    ["src/client/client.test.ts", "files that come with words are kept before the words are posted, and named by them"],
    ["src/client/attach.ts", "    await store.putFile({ taskId: params.taskId, name: kept, mediaType, bytes });\n", ""],
  ),
  kept(
    "One process holds a storage root, by whatever path it is named.",
    [lock, "a root is the file that a path leads to, whether it is there yet or not"],
    ["src/instance-lock.ts", "return await realpath(whole);", "return whole;"],
  ),
  kept(
    "What is held is refused to others, and an address that something else has fails closed.",
    [lock, "a port that something else has is refused, with what that may be"],
    [
      "src/instance-lock.ts",
      'if (code !== "EADDRINUSE" && code !== "EACCES") return error;',
      'if (code !== "EACCES") return error;',
    ],
  ),
  kept(
    "The system itself holds it, on each system in its own way, so that it ends with the process.",
    [lock, "each system has something that it takes back by itself"],
    ["src/instance-lock.ts", 'if (platform === "win32") return', 'if (platform === "cygwin") return'],
  ),
  kept(
    "Within the process it is free after the last that held it.",
    [lock, "one process may hold a root several times; it is free after the last (%s)"],
    ["src/instance-lock.ts", "    if (entry.holders > 0) return;\n", ""],
  ),
  ...without(
    "later: Discord",
    "Attachments are fetched anew from the message that they came with, and those that are gone say so.",
    "A saved file of a task is given to its owner alone, up to a size.",
    "Answers about tasks are for the asker's eyes alone, those of moved tasks too.",
    "A reply to a request or to its progress message steers the task, for its asker in its place.",
    "Progress is told from what is measured, with no model call for its words.",
    "What a script sends is a task of its own, with receipts.",
    "A deletion, an edit or a message that was sent is verified by looking; what cannot be seen stays unknown.",
  ),
  ...without("n/a: of earlier releases", "Older records of usage are read.", "Tables and their names."),
];
