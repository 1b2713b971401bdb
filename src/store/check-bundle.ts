// Whether a bundle is what was exported. Every adapter asks this before it keeps anything of one.
import { checkLog } from "../core/check-log.ts";
import type { TaskColumns } from "../core/project.ts";
import { definitionHash, nodeHasher } from "./node-hasher.ts";
import { StoreError, type Bundle } from "./store.ts";

const damaged = (taskId: string, what: string): StoreError =>
  new StoreError("damaged", `the bundle of task ${taskId} is not what was exported: ${what}`);

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** The task that a bundle brings may have gone on where it came from: whoever claims it next has to say so. */
export const mayHaveGoneOn = ({ status, outcome }: Pick<TaskColumns, "status" | "outcome">): boolean =>
  status !== "ended" && (status !== "waiting" || outcome === null);

/** Refuses (`damaged`) a bundle whose format, log, times, list of redactions, row or definitions do not verify. */
export const checkBundle = (bundle: Bundle): void => {
  const { format, row, entries, redactions, definitions } = bundle;
  const { taskId } = row;
  if ((format as string) !== "perdure-task/1") throw damaged(taskId, `its format is ${String(format)}`);
  if (entries.length === 0) throw damaged(taskId, "its log is empty");
  const odd = entries.find(({ at }) => !isCount(at));
  if (odd !== undefined) throw damaged(taskId, `the time of event ${String(odd.seq)} is no whole number`);
  const { revision, inboxSeq, inboxTaken } = row;
  const counts = Object.entries({ revision, inboxSeq, inboxTaken });
  for (const [name, value] of counts)
    if (!isCount(value)) throw damaged(taskId, `its row's ${name} is no whole number`);
  const [finding] = checkLog({ taskId, entries, redactions, row, hasher: nodeHasher });
  if (finding !== undefined) {
    const where = finding.seq === null ? "" : `event ${String(finding.seq)}: `;
    throw damaged(taskId, `${where}${finding.what}`);
  }
  const wrong = definitions.find(({ hash, text }) => definitionHash(text) !== hash);
  if (wrong !== undefined) throw damaged(taskId, `definition ${wrong.hash} holds another text`);
};
