// Where the tools of a task without a workspace run: nowhere. A tool that asks for a file or a process is told so.
import { ExecError, type Exec } from "../exec.ts";

const refuse = (): Promise<never> =>
  Promise.reject(new ExecError("not_found", "this task has no workspace: it was created without one"));

/** An exec whose every method refuses with `not_found`; nothing happened. */
export const noExec: Exec = {
  root: "",
  resolve: refuse,
  stat: refuse,
  readFile: refuse,
  writeFile: refuse,
  run: refuse,
};
