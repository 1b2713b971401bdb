// Promises about results, what they came from, and what is told of them.
import { about, type Promised } from "./promise.ts";

const { kept, without } = about("Evidence");

const exporting = "src/client/export-task.test.ts";

export const evidence: readonly Promised[] = [
  kept(
    "The request stands in the conversation word for word, over legs, resumes and a context that was made smaller.",
    ["src/core/laws.test.ts", "says the objective word for word, unless its words were erased"],
    ["src/core/fold.ts", "[objective, summary, ...rest];", "[summary, ...rest];"],
  ),
  kept(
    "What each result came from is recorded with it: source, version and cursor.",
    ["src/core/project.test.ts", "of sources: every event that carries them; of evidence: results alone"],
    ["src/core/project.ts", "cursor: cursor ?? null, seq }", "cursor: null, seq }"],
  ),
  kept(
    "Each result is on the log as it comes, while others of its reply still run.",
    [
      "src/runner/run-calls.test.ts",
      "run side by side when they read; each result commits as it comes, results stand in call order",
    ],
    [
      "src/runner/run-calls.ts",
      "    if (running.size > 0 && run.journal.hasPending) await run.journal.commit();\n",
      "",
    ],
  ),
  kept(
    "A result with sources is exported in a file of its own, with arguments, output, source, version and cursor.",
    [exporting, "results with sources are evidence of their own, and where there are none there is no evidence"],
    [
      "src/client/export-task.ts",
      "event.sources === undefined || event.sources.length === 0",
      "event.sources !== undefined",
    ],
  ),
  kept(
    "A log keeps results that the model is no longer shown.",
    ["src/runner/output.test.ts", "is kept whole as a task file; the model sees head, tail, size and path"],
    ["src/runner/output.ts", '  await keep(run, name, "text/plain", bytes);\n', ""],
  ),
  kept(
    "What was redacted is shown as a gap.",
    [exporting, "what was redacted is a gap: in the export, its evidence and its page"],
    ["src/client/export-task.ts", "text: redacted === true ? null : text", "text"],
  ),
  ...without(
    "later: evidence",
    "Access to the sources of a task is asked before each model call.",
    "Access to the sources of a task is asked again after each model call, before its reply counts.",
    "A view or an export shows what came from a source that its reader may no longer read as a gap.",
    "A deleted source redacts the results that hold it.",
    "A deleted source takes the files, notes and collections that came from it.",
    "The objective stays, so that the work can be done anew from it.",
    "A late write cannot bring back what came from a deleted source.",
    "An edited source is read anew in place, without ending the turn; valid results and receipts stay.",
    "What can no longer be read is a gap of its own, and the rest of the work goes on.",
    "Writes that have not been dispatched wait for pending changes of sources.",
    "Answers carry their sources into later turns.",
    "Summaries of unknown sources are left out of what the model is shown.",
    "A deletion interrupts a model call that was given the source.",
    "Who deleted it in that very turn may still confirm the deletion.",
  ),
  ...without(
    "n/a: a result and its evidence are one append",
    "A result stays valid where its evidence cannot be written.",
  ),
];
