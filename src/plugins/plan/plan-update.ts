// plan_update: the whole plan anew. It names the version that it changes, and is refused when that is no longer the newest.
import { Type, type Static } from "typebox";
import { NothingHappened, type TypedTool } from "../plugin.ts";
import { Status, type PlanRecord, type PlanStep, type Saved } from "./saved.ts";
import { planLines } from "./words.ts";

const strict = { additionalProperties: false };

const Input = Type.Object(
  {
    expected_version: Type.Integer({ minimum: 0, description: "The plan's version as you know it; 0 for the first." }),
    steps: Type.Array(
      Type.Object(
        {
          id: Type.Optional(Type.String({ description: "Of a step that the plan has; absent for a new one." })),
          text: Type.String(),
          status: Status,
        },
        strict,
      ),
      { description: "All steps in their order. One that is left out is gone." },
    ),
  },
  strict,
);

type Given = Static<typeof Input>["steps"];

/** The steps with an id each. Throws for an id that the plan does not have, or that stands twice. */
const named = (saved: Saved, given: Given): PlanStep[] => {
  let { s } = saved.next;
  const seen = new Set<string>();
  return given.map(({ id, status, text }) => {
    if (text.trim() === "") throw new NothingHappened("A step has no text. The plan stays as it was.");
    if (id === undefined) {
      s += 1;
      return { id: `s${String(s - 1)}`, status, text };
    }
    if (seen.has(id)) throw new NothingHappened(`The step ${id} stands twice. The plan stays as it was.`);
    seen.add(id);
    if (!saved.steps.some((step) => step.id === id)) {
      const why = `The plan has no step ${id}. Leave the id out for a new step. The plan stays as it was.`;
      throw new NothingHappened([why, ...planLines(saved)].join("\n"));
    }
    return { id, status, text };
  });
};

export const planUpdate: TypedTool<typeof Input> = {
  name: "plan_update",
  description: [
    "Saves this task's plan: all of its steps with their status. Use it for work of several steps, and keep it true.",
    "expected_version must be the plan's version now; if it has changed since, nothing is saved and you are shown the plan.",
  ].join(" "),
  inputSchema: Input,
  effect: "internal",
  execute: ({ expected_version: expected, steps: given }, context) => {
    const saved = context.state as Saved;
    if (expected !== saved.version) {
      const why = `The plan is at version ${String(saved.version)}, not ${String(expected)}. Nothing was saved.`;
      throw new NothingHappened([why, ...planLines(saved)].join("\n"));
    }
    const steps = named(saved, given);
    const data: PlanRecord = {
      version: saved.version + 1,
      steps: steps.map(({ id, status }) => ({ id, status })),
      texts: steps.map(({ text }) => text),
    };
    context.record({ kind: "plan", data });
    const ids = steps.map(({ id }) => id).join(", ");
    return `Saved as version ${String(data.version)}${ids === "" ? ", with no steps" : `: ${ids}`}.`;
  },
};
