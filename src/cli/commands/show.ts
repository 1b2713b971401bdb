// perdure show: one task whole, in a page.
import type { ApprovalView } from "../../client/approvals.ts";
import { showTask, type ActionView, type TaskView } from "../../client/show-task.ts";
import type { TaskUsage, UsageTotals } from "../../client/usage.ts";
import { defineCommand } from "../command.ts";
import { restoredText, standing } from "../report.ts";
import { openSession } from "../session.ts";

const time = (ms: number): string => new Date(ms).toISOString();

const tokensText = ({ calls, unknown, input, output, cacheRead }: UsageTotals): string => {
  if (calls === unknown) return "tokens not reported";
  const cached = cacheRead === 0 || cacheRead === null ? "" : ` and ${String(cacheRead)} from the cache`;
  const missing = unknown === 0 ? "" : `, not reported for ${String(unknown)}`;
  return `${String(input)} tokens in${cached}, ${String(output)} out${missing}`;
};

export const usageText = (usage: UsageTotals): string => {
  const { calls, failed, priceEstimate } = usage;
  return [
    calls === 1 ? "1 call" : `${String(calls)} calls`,
    ...(failed === 0 ? [] : [`${String(failed)} failed`]),
    ...(calls === 0 ? [] : [tokensText(usage)]),
    ...(priceEstimate === null ? [] : [`estimated price ${priceEstimate.toFixed(4)}`]),
  ].join(", ");
};

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);

const ownLines = ({ usage, by }: TaskUsage): string[] => [
  usageText(usage),
  ...indented(by.map(({ purpose, model, usage: part }) => `${purpose}, ${model}: ${usageText(part)}`)),
];

/** A task's own calls by purpose and model, then those of its child tasks, each under the task that made it. */
export const usageLines = (tree: TaskUsage): string[] => {
  if (tree.children.length === 0) return ownLines(tree);
  const below = tree.children.flatMap((child) => [`child task ${child.taskId}`, ...indented(usageLines(child))]);
  return [...ownLines(tree), ...indented(below), `with child tasks: ${usageText(tree.withChildren)}`];
};

const actionText = ({ action, name, effect, status, attempt, startedSeq }: ActionView): string => {
  const again = attempt > 1 ? `, attempt ${String(attempt)}` : "";
  return `${action} ${name} (${effect}) ${status}, started at seq ${String(startedSeq)}${again}`;
};

const approvalText = (view: ApprovalView): string =>
  [
    `${view.request} ${view.name} (${view.effect}) ${view.redacted ? "(redacted)" : JSON.stringify(view.input)}`,
    ...view.items.map((item) => `- ${item}`),
    ...(view.reason === null ? [] : [view.reason]),
    `decides ${view.decides}, ${view.expiresAt === null ? "does not expire" : `expires ${time(view.expiresAt)}`}`,
    `hash ${view.inputHash}, showing ${String(view.showing)}, asked at seq ${String(view.requestedSeq)}`,
  ].join("\n");

const automaticText = ({ steeredByOther }: TaskView): string =>
  steeredByOther
    ? "automatic, but each change is asked about: not you alone have corrected it"
    : "automatic: nothing is asked";

/** The lines of a part of the page, under its name. */
const part = (name: string, lines: readonly string[]): [string, string][] =>
  lines.map((line, index) => [index === 0 ? name : "", line]);

const GONE = "(redacted)";

const savedRows = ({ saved }: TaskView): [string, string][] => [
  ...part("plan", [
    ...(saved.plan === null ? [] : [`version ${String(saved.plan.version)}`]),
    ...(saved.plan?.steps ?? []).map(({ id, status, text }) => `${id} (${status}) ${text ?? GONE}`),
  ]),
  ...part(
    "goals",
    saved.goals.map(({ id, status, text, reason }) => {
      const why = reason === null ? "" : `: ${reason}`;
      return `${id} (${status}) ${text ?? GONE}${why}`;
    }),
  ),
  ...part(
    "notes",
    saved.notes.map(({ id, text }) => `${id} ${text ?? GONE}`),
  ),
];

const page = (view: TaskView): string => {
  const { actions } = view;
  const status = [view.status, ...(view.waitingOn === null ? [] : [`on ${view.waitingOn}`])].join(" ");
  const outcome = [view.outcome, view.reason].filter((part) => part !== null).join(", ");
  const rows: [string, string][] = [
    ["task", view.taskId],
    ["objective", view.objective],
    ["status", outcome === "" ? status : `${status} (${outcome})`],
    ...(view.problem === null ? [] : [["problem", view.problem] as [string, string]]),
    ...(view.restored === null ? [] : [["restored", restoredText(view.restored)] as [string, string]]),
    ...(view.claimedBy === null ? [] : [["worker", view.claimedBy] as [string, string]]),
    ...(view.untaken === 0 ? [] : [["inbox", `${String(view.untaken)} not taken`] as [string, string]]),
    ...part(
      "queued",
      view.queued.map(({ text }) => JSON.stringify(text)),
    ),
    ["agent", `${view.agent}, model ${view.model}, mode ${view.mode}, on interrupt ${view.onInterrupt}`],
    ...(view.autoApprove ? [["approvals", automaticText(view)] as [string, string]] : []),
    ["workspace", view.workspace ?? "none"],
    ["owner", view.owner],
    ["place", `${view.origin.place}${view.origin.private ? ", private" : ""}`],
    ...part("steered by", [...view.collaborators]),
    ...(view.steeredByOther ? [["", "a collaborator has corrected it"] as [string, string]] : []),
    ["created", time(view.createdAt)],
    ["updated", time(view.updatedAt)],
    ["log", `${String(view.lastSeq)} events, head ${view.head}`],
    ...part("usage", usageLines(view.usageTree)),
    ...savedRows(view),
    ...part("asked", view.approvals.map(approvalText)),
    ...part("actions", actions.map(actionText)),
    ...(view.answer === null ? [] : [["answer", view.answer] as [string, string]]),
  ];
  return rows.map(([name, value]) => `${name.padEnd(11)}${value.replaceAll("\n", `\n${" ".repeat(11)}`)}`).join("\n");
};

export const show = defineCommand({
  name: "show",
  summary: "one task: where it stands, what it did outside, what it used",
  words: { task: "required" },
  options: {},
  perform: async (program, { options, words: { task } }) => {
    await using session = await openSession(program, options);
    const view = await showTask(session.client, task);
    if (options.json === true) {
      program.output.json(view);
      return 0;
    }
    program.output.print(page(view));
    for (const line of standing(view, session.again)) program.output.tell(line);
    return 0;
  },
});
