// The `fs` plugin: Read, Write, Edit, Glob and Grep on the task's workspace.
import type { Plugin } from "../plugin.ts";
import { edit } from "./edit.ts";
import { glob } from "./glob.ts";
import { grep } from "./grep.ts";
import { read } from "./read.ts";
import { reducer } from "./seen.ts";
import { write } from "./write.ts";

export const fs = (): Plugin => ({
  name: "fs",
  version: "1",
  module: import.meta.url,
  tools: [read, write, edit, glob, grep],
  reducer,
  records: { read: { v: 1 }, write: { v: 1 } },
});
