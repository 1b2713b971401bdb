// An export as a page of Markdown, for people to read. Whatever a model, a tool or a person wrote stands in fences, so that
// none of it passes for a part of the page.
import type { ExportedAction } from "./export-actions.ts";
import type { ExportedApproval } from "./export-approvals.ts";
import { outputText, type TaskExport } from "./export-task.ts";
import type { At } from "./read-log.ts";
import type { PlanView } from "./show-plan.ts";
import type { TaskUsage, UsageTotals } from "./usage.ts";

const GONE = "(redacted)";

const time = (ms: number): string => new Date(ms).toISOString();

const where = ({ seq, at }: At): string => `seq ${String(seq)}, ${time(at)}`;

/** Longer than any run of backticks in it. */
const fenced = (text: string, language = ""): string => {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
};

const words = (text: string | null): string => (text === null ? GONE : fenced(text));
const json = (value: unknown): string => (value === null ? GONE : fenced(JSON.stringify(value, null, 2), "json"));

/** Words within a line: what would end it, or mean something, does not. */
const inline = (text: string | null): string =>
  text === null ? GONE : text.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_[\]<>#|]/g, (mark) => `\\${mark}`);

const part = (title: string, blocks: readonly string[]): string[] =>
  blocks.length === 0 ? [] : [`## ${title}`, ...blocks];

const list = (lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [lines.map((line) => `- ${line}`).join("\n")];

const count = (value: number | null): string => (value === null ? "unknown" : String(value));

const usageCells = (usage: UsageTotals): string[] => [
  String(usage.calls),
  String(usage.failed),
  count(usage.input),
  count(usage.output),
  count(usage.cacheRead),
  String(usage.unknown),
  `${String(usage.durationMs)} ms`,
  usage.priceEstimate === null ? "unknown" : usage.priceEstimate.toFixed(4),
];

const usageRows = ({ taskId, by, children }: TaskUsage): string[][] => [
  ...by.map(({ purpose, model, usage }) => [taskId, inline(purpose), inline(model), ...usageCells(usage)]),
  ...children.flatMap(usageRows),
];

const usagePart = (usage: TaskUsage): string[] => {
  const head = [
    "task",
    "purpose",
    "model",
    "calls",
    "failed",
    "tokens in",
    "out",
    "from cache",
    "not reported",
    "time",
  ];
  const sum = ["all", "", "", ...usageCells(usage.withChildren)];
  const rows = [[...head, "estimated price"], head.concat("").map(() => "---"), ...usageRows(usage), sum];
  return [
    rows.map((row) => `| ${row.join(" | ")} |`).join("\n"),
    "Prices are estimates from configured prices, no bill. Calls whose tokens were not reported are in no count of tokens.",
  ];
};

const savedParts = ({ plan, goals, notes }: PlanView): string[] => [
  ...part("Plan", [
    ...(plan === null ? [] : [`Version ${String(plan.version)}`]),
    ...list((plan?.steps ?? []).map(({ id, status, text }) => `${id} (${status}) ${inline(text)}`)),
  ]),
  ...part(
    "Goals",
    list(
      goals.map(({ id, status, text, reason }) => {
        const why = reason === null ? "" : `: ${inline(reason)}`;
        return `${id} (${status}) ${inline(text)}${why}`;
      }),
    ),
  ),
  ...part(
    "Notes",
    notes.flatMap(({ id, text }) => [`### ${id}`, words(text)]),
  ),
];

const actionBlocks = (action: ExportedAction, gaps: TaskExport["gaps"]): string[] => {
  const { name, effect, status, invocationId, input, attempts, unknown, settled, finished } = action;
  return [
    `### ${action.action} ${inline(name)} (${effect}): ${status}`,
    ...list([`invocation ${invocationId}`, ...attempts.map((attempt) => `announced: ${where(attempt)}`)]),
    "Arguments:",
    json(input),
    ...(unknown === null ? [] : [`Unknown since ${where(unknown)}: ${inline(unknown.reason)}`]),
    ...settled.flatMap((entry) => {
      const line = `Settled as ${entry.outcome} by ${inline(entry.by)} (${entry.how}), ${where(entry)}`;
      const wordless = entry.verification === null && !gaps.includes(entry.seq);
      return wordless ? [line] : [`${line}:`, words(entry.verification)];
    }),
    ...(finished === null ? ["No result."] : [`Result, ${where(finished)}:`, words(outputText(finished.output))]),
    ...(finished?.resources == null ? [] : list(finished.resources.map((resource) => `resource ${inline(resource)}`))),
  ];
};

const approvalBlocks = (approval: ExportedApproval): string[] => {
  const { request, action, name, input, items, askedBecause, decides, expiresAt, decision, voided } = approval;
  const asked = [
    `asked: ${where(approval)}`,
    ...(askedBecause === null ? [] : [`because: ${inline(askedBecause)}`]),
    `may decide: ${inline(decides)}`,
    ...(expiresAt === null ? [] : [`expires: ${time(expiresAt)}`]),
  ];
  const shown = [json(input), ...list((items ?? []).map(inline))];
  const title = `### ${inline(request)} for ${action} ${inline(name)}: ${decision?.decision ?? "open"}`;
  if (decision === null) return [title, ...list(asked), ...shown];
  const unasked = decision.auto ? " (auto-approve was on: nobody was asked)" : "";
  const decided = `${decision.decision} by ${inline(decision.by)}${unasked}, ${where(decision)}`;
  return [
    title,
    ...list([
      ...[...asked, decided, ...(decision.reason === null ? [] : [`reason: ${inline(decision.reason)}`])],
      ...(voided === null ? [] : [`void, ${where(voided)}: it was not used, and the call is asked about anew`]),
    ]),
    ...shown,
    ...(decision.input === null ? [] : ["Corrected to:", json(decision.input)]),
  ];
};

const about = (task: TaskExport): string[] => {
  const { origin, outcome, reason, problem, parent, gaps } = task;
  const standing = [task.status, ...(task.waitingOn === null ? [] : [`on ${task.waitingOn}`])].join(" ");
  const why = [outcome, reason, problem].filter((word) => word !== null).map(inline);
  return list([
    `owner ${inline(task.owner)}`,
    `origin ${inline(origin.frontEnd)}, place ${inline(origin.place)}${origin.private ? ", private" : ""}`,
    ...(parent === null ? [] : [`child of ${parent}`]),
    `agent ${inline(task.agent)}, model ${inline(task.model)}, mode ${task.mode}, on interrupt ${task.onInterrupt}`,
    `workspace ${task.workspace === null ? "none" : inline(task.workspace)}`,
    `created ${time(task.createdAt)}, last changed ${time(task.updatedAt)}, exported ${time(task.exportedAt)}`,
    `log: ${String(task.lastSeq)} events, head ${task.head}`,
    [standing, ...why].join(", "),
    ...(gaps.length === 0 ? [] : [`redacted: events ${gaps.join(", ")}; their words are gone`]),
  ]);
};

/** The page, with an end of line. `evidence`: how many results with sources stand in a file of their own. */
export const exportPage = (task: TaskExport, evidence: number): string => {
  const { objective, answer, outcomes, collaboration, files } = task;
  const many = `${String(evidence)} results with their sources are in a file of their own.`;
  const kept = evidence === 0 ? [] : [evidence === 1 ? "1 result with its sources is in a file of its own." : many];
  const blocks = [
    `# Task ${task.taskId}`,
    ...about(task),
    ...part("Objective", [words(objective)]),
    ...(answer === null ? [] : part("Answer", [words(answer)])),
    ...part(
      "Outcomes",
      list(
        outcomes.map(
          (each) =>
            `${[each.outcome, ...(each.reason === null ? [] : [inline(each.reason)])].join(", ")} (${where(each)})`,
        ),
      ),
    ),
    ...savedParts(task.saved),
    ...part(
      "Words",
      task.words.flatMap((said) => [`${said.as} by ${inline(said.by)}, ${where(said)}:`, words(said.text)]),
    ),
    ...part(
      "Actions",
      task.actions.flatMap((action) => actionBlocks(action, task.gaps)),
    ),
    ...part("Approvals", task.approvals.flatMap(approvalBlocks)),
    ...part("Collaborators", [
      ...list(task.collaborators.map(inline)),
      ...list(
        collaboration.map((each) => `${each.change} ${inline(each.principal)} by ${inline(each.by)} (${where(each)})`),
      ),
    ]),
    ...part("Usage", usagePart(task.usage)),
    ...part(
      "Files",
      list(files.map(({ name, mediaType, size }) => `${inline(name)} (${mediaType}, ${String(size)} bytes)`)),
    ),
    ...part("Evidence", kept),
  ];
  return `${blocks.join("\n\n")}\n`;
};
