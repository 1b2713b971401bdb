// Whether a bundle is what was exported. Every adapter asks this before it keeps anything of one.
import { checkLog } from "../core/check-log.ts";
import { definitionHash, nodeHasher } from "./node-hasher.ts";
import { StoreError, type Bundle } from "./store.ts";

const damaged = (taskId: string, what: string): StoreError =>
  new StoreError("damaged", `the bundle of task ${taskId} is not what was exported: ${what}`);

/** Refuses (`damaged`) a bundle whose format, log, list of redactions, row or definitions do not verify. */
export const checkBundle = (bundle: Bundle): void => {
  const { format, row, entries, redactions, definitions } = bundle;
  const { taskId } = row;
  if ((format as string) !== "perdure-task/1") throw damaged(taskId, `its format is ${String(format)}`);
  if (entries.length === 0) throw damaged(taskId, "its log is empty");
  const [finding] = checkLog({ taskId, entries, redactions, row, hasher: nodeHasher });
  if (finding !== undefined) {
    const where = finding.seq === null ? "" : `event ${String(finding.seq)}: `;
    throw damaged(taskId, `${where}${finding.what}`);
  }
  const wrong = definitions.find(({ hash, text }) => definitionHash(text) !== hash);
  if (wrong !== undefined) throw damaged(taskId, `definition ${wrong.hash} holds another text`);
};
