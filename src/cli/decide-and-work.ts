// What approve and deny do: decide on a request, then work the task to its next wait.
import { decideApproval, type DecisionReceipt } from "../client/approvals.ts";
import { showTask } from "../client/show-task.ts";
import { CommandError } from "./failure.ts";
import { addModelOf, workAndReport, type WorkValues } from "./post-and-work.ts";
import type { Program } from "./program.ts";
import { openSession, type Session } from "./session.ts";
import { openWorkshop } from "./workshop.ts";

export interface Deciding {
  readonly task: string;
  readonly request: string | undefined;
  readonly decision: "approve" | "deny";
  readonly input?: unknown;
  readonly reason?: string;
  readonly key?: string;
}

const done = { approve: "approved", deny: "denied" } as const;

const decide = (session: Session, { task: taskId, request, ...given }: Deciding): Promise<DecisionReceipt> =>
  decideApproval(session.client, { taskId, ...given, ...(request === undefined ? {} : { request }) });

/** Another's decision that came first: the same one is as good, the other one is not what was asked for. */
const tell = ({ output }: Program, wanted: Deciding["decision"], receipt: DecisionReceipt): void => {
  const { taskId, request, counts, decision, by } = receipt;
  if (counts) return;
  const told = `task ${taskId}: ${request} had been ${done[decision]} by ${by} before`;
  if (decision !== wanted) throw new CommandError(told);
  output.tell(told);
};

/** Decides alone: for somebody whose task it is not, or who leaves the work to others. */
const decideOnly = async (program: Program, session: Session, deciding: Deciding, json: boolean): Promise<number> => {
  const receipt = await decide(session, deciding);
  if (json) program.output.json(receipt);
  else if (receipt.counts)
    program.output.tell(`task ${receipt.taskId}: ${receipt.request} is ${done[receipt.decision]}`);
  tell(program, deciding.decision, receipt);
  return 0;
};

/** The principal's own, or one where they only decide. */
const isOwn = async ({ store, client }: Session, task: string): Promise<boolean> => {
  const row = await store.getTask({ taskId: task });
  return row === null || row.owner === client.principal;
};

export const decideAndWork = async (program: Program, options: WorkValues, deciding: Deciding): Promise<number> => {
  const json = options.json === true;
  await using session = await openSession(program, options);
  if (options["no-wait"] === true || !(await isOwn(session, deciding.task))) {
    return await decideOnly(program, session, deciding, json);
  }
  const { taskId, model, lastSeq: after } = await showTask(session.client, deciding.task);
  const workshop = await openWorkshop(program, session);
  await addModelOf(workshop, session, { taskId, model }, true);
  tell(program, deciding.decision, await decide(session, deciding));
  return await workAndReport(program, session, workshop, { taskId, after, json });
};
