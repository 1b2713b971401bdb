// Breadth-first search over the claims model, and what must hold of every state and of every step between two.
import {
  HOLD_TICKS,
  LEASE_TICKS,
  begin,
  hasWork,
  opsOf,
  rules,
  step,
  type Answer,
  type Model,
  type Op,
  type Rules,
} from "./model.ts";

export interface Found {
  /** States that differ in more than the numbers of their fences. */
  readonly states: number;
  readonly steps: number;
  /** The first thing that is wrong, with the shortest way to it; null when all holds. */
  readonly fault: { readonly what: string; readonly path: readonly Op[] } | null;
}

/** What a state is but for the numbers: of a fence counts whether it is the newest; of attempts nothing. */
const keyOf = (model: Model): string =>
  model
    .map(({ fence, holder, left, held, waiting, untaken, known }) => {
      const relations = known.map((own) => (own === 0 ? "-" : own === fence ? "n" : "o")).join("");
      return `${String(holder ?? "-")}${String(left)}${String(held)}${waiting ? "w" : "r"}${untaken ? "u" : "t"}${relations}`;
    })
    .join(" ");

const taskAt = (model: Model, index: number): Model[number] => {
  const task = model[index];
  if (task === undefined) throw new Error(`the model has no task ${String(index)}`);
  return task;
};

/** Of a step: fences only grow; an old fence is never accepted and changes nothing; a running lease keeps others out. */
const stepFault = (before: Model, op: Op, answer: Answer, after: Model, by: Rules): string | null => {
  if (before.some(({ fence }, index) => taskAt(after, index).fence < fence)) return "a fence went back";
  if (op.do === "tick" || op.do === "post") return null;
  const [was, is] = [taskAt(before, op.task), taskAt(after, op.task)];
  if (op.do === "claim") {
    if (answer !== "null" && is.fence <= was.fence) return "a claim did not raise the fence";
    return answer !== "null" && was.left > 0 ? "a task was claimed while its lease ran" : null;
  }
  if (was.known[op.worker] !== was.fence && answer !== "not_owner") return `an old fence was accepted: ${op.do}`;
  if (answer === "not_owner" && JSON.stringify(is) !== JSON.stringify(was))
    return `a refused ${op.do} changed something`;
  if (op.do === "wait" && answer === "ok" && was.untaken) return "a task waits over an untaken item";
  const gaveBack = op.do === "park" || op.do === "stop" || op.do === "hold";
  if (gaveBack && answer === "ok" && step(after, { ...op, do: "work" }, by)[1] !== "not_owner") {
    return "an append was accepted after the claim was given back";
  }
  return null;
};

/** Of a state: one worker at most may append to a task; whatever has work can be claimed once nobody renews its lease. */
const stateFault = (model: Model, by: Rules): string | null => {
  let later = model;
  for (let ticks = 0; ticks < LEASE_TICKS + HOLD_TICKS; ticks += 1) [later] = step(later, { do: "tick" }, by);
  for (const [task, { known, left, held }] of model.entries()) {
    const accepted = known.filter(
      (fence, worker) => fence > 0 && step(model, { do: "work", worker, task }, by)[1] === "ok",
    );
    if (accepted.length > 1) return "two workers may append to one task";
    if (!hasWork(taskAt(model, task))) continue;
    const claims = (at: Model): boolean =>
      known.every((_, worker) => step(at, { do: "claim", worker, task }, by)[1] !== "null");
    if (left === 0 && held === 0 && !claims(model)) return "an expired lease cannot be claimed";
    if (!claims(later)) return "a task with work waits forever";
  }
  return null;
};

interface Node {
  readonly model: Model;
  readonly op: Op | null;
  readonly from: Node | null;
}

const pathTo = (node: Node | null): Op[] => (node?.op == null ? [] : [...pathTo(node.from), node.op]);

/** Visits every state that can be reached, nearest first. */
export const search = (workers: number, tasks: number, by: Rules = rules): Found => {
  let layer: Node[] = [{ model: begin(workers, tasks), op: null, from: null }];
  const seen = new Set(layer.map(({ model }) => keyOf(model)));
  let steps = 0;
  while (layer.length > 0) {
    const next: Node[] = [];
    for (const node of layer) {
      const wrong = stateFault(node.model, by);
      if (wrong !== null) return { states: seen.size, steps, fault: { what: wrong, path: pathTo(node) } };
      for (const op of opsOf(node.model)) {
        const [model, answer] = step(node.model, op, by);
        steps += 1;
        const reached = { model, op, from: node };
        const fault = stepFault(node.model, op, answer, model, by);
        if (fault !== null) return { states: seen.size, steps, fault: { what: fault, path: pathTo(reached) } };
        const key = keyOf(model);
        if (seen.has(key)) continue;
        seen.add(key);
        next.push(reached);
      }
    }
    layer = next;
  }
  return { states: seen.size, steps, fault: null };
};
