// Claims as pure transitions: who may append to a task, for how long, and when another may. What the stores must answer.

/** How long a lease and a hold last, in ticks of the model's clock. */
export const LEASE_TICKS = 2;
export const HOLD_TICKS = 1;

export interface TaskModel {
  readonly fence: number;
  /** Whoever claimed it last and has not given it back, also after the lease ran out. */
  readonly holder: number | null;
  /** Ticks that the lease still runs. */
  readonly left: number;
  /** Ticks until it may be claimed after a hold. */
  readonly held: number;
  readonly waiting: boolean;
  readonly untaken: boolean;
  readonly attempts: number;
  /** By worker: the fence of its newest claim; 0 for none. */
  readonly known: readonly number[];
}

export type Model = readonly TaskModel[];

export type Op =
  | {
      readonly do: "claim" | "renew" | "work" | "take" | "wait" | "park" | "stop" | "hold";
      readonly worker: number;
      readonly task: number;
    }
  | { readonly do: "post"; readonly task: number }
  | { readonly do: "tick" };

/** What a store answers: a claim's fence and attempt, `null` for no claim, `ok`, or the code of a refusal. */
export type Answer = string;

/** The rules, each of which can be broken to see whether that is found. */
export interface Rules {
  readonly claimRaisesFence: boolean;
  readonly claimWaitsForLease: boolean;
  readonly claimAfterLapse: boolean;
  readonly renewChecksFence: boolean;
  readonly appendChecksFence: boolean;
  readonly releaseChecksFence: boolean;
  readonly releaseEndsClaim: boolean;
  readonly waitSeesInbox: boolean;
  readonly holdEnds: boolean;
}

export const rules: Rules = {
  claimRaisesFence: true,
  claimWaitsForLease: true,
  claimAfterLapse: true,
  renewChecksFence: true,
  appendChecksFence: true,
  releaseChecksFence: true,
  releaseEndsClaim: true,
  waitSeesInbox: true,
  holdEnds: true,
};

export const begin = (workers: number, tasks: number): Model =>
  Array.from({ length: tasks }, () => ({
    fence: 0,
    holder: null,
    left: 0,
    held: 0,
    waiting: false,
    untaken: false,
    attempts: 0,
    known: Array.from({ length: workers }, () => 0),
  }));

export const hasWork = ({ waiting, untaken }: TaskModel): boolean => !waiting || untaken;

const isClaimable = (task: TaskModel, { claimWaitsForLease, claimAfterLapse }: Rules): boolean => {
  if (!hasWork(task) || task.held > 0) return false;
  if (task.left > 0) return !claimWaitsForLease;
  return claimAfterLapse || task.holder === null;
};

const isOwner = (task: TaskModel, worker: number, checked: boolean): boolean =>
  checked ? task.holder !== null && task.known[worker] === task.fence : task.holder !== null;

const claim = (task: TaskModel, worker: number, by: Rules): [TaskModel, Answer] => {
  if (!isClaimable(task, by)) return [task, "null"];
  const fence = by.claimRaisesFence ? task.fence + 1 : Math.max(1, task.fence);
  const attempts = task.attempts + 1;
  const known = task.known.map((before, index) => (index === worker ? fence : before));
  const claimed = { ...task, fence, holder: worker, left: LEASE_TICKS, attempts, known };
  return [claimed, `fence ${String(fence)}, attempt ${String(attempts)}`];
};

const release = (task: TaskModel, held: number, { releaseEndsClaim }: Rules): TaskModel =>
  releaseEndsClaim ? { ...task, holder: null, left: 0, attempts: 0, held } : { ...task, held };

/** A holder's own deed, once its fence was looked at. */
const perform = (
  task: TaskModel,
  act: Exclude<Op["do"], "claim" | "post" | "tick">,
  by: Rules,
): [TaskModel, Answer] => {
  const moved = task.untaken && by.waitSeesInbox;
  switch (act) {
    case "renew":
      return [{ ...task, left: LEASE_TICKS }, "ok"];
    case "work":
      return [{ ...task, waiting: false }, "ok"];
    case "take":
      return [{ ...task, waiting: false, untaken: false }, "ok"];
    case "wait":
      return moved ? [task, "inbox_moved"] : [{ ...task, waiting: true }, "ok"];
    case "park":
      return moved ? [task, "inbox_moved"] : [release(task, 0, by), "ok"];
    case "stop":
      return [release(task, 0, by), "ok"];
    case "hold":
      return [release(task, HOLD_TICKS, by), "ok"];
  }
};

const checksFence = (act: Op["do"], by: Rules): boolean => {
  if (act === "renew") return by.renewChecksFence;
  return act === "park" || act === "stop" || act === "hold" ? by.releaseChecksFence : by.appendChecksFence;
};

const stepTask = (task: TaskModel, op: Exclude<Op, { do: "tick" }>, by: Rules): [TaskModel, Answer] => {
  if (op.do === "post") return [{ ...task, untaken: true }, "ok"];
  if (op.do === "claim") return claim(task, op.worker, by);
  if (!isOwner(task, op.worker, checksFence(op.do, by))) return [task, "not_owner"];
  return perform(task, op.do, by);
};

const tick = (task: TaskModel, { holdEnds }: Rules): TaskModel => ({
  ...task,
  left: Math.max(0, task.left - 1),
  held: holdEnds ? Math.max(0, task.held - 1) : task.held,
});

/** What an operation changes, and what is answered. */
export const step = (model: Model, op: Op, by: Rules = rules): [Model, Answer] => {
  if (op.do === "tick") return [model.map((task) => tick(task, by)), "ok"];
  let answer: Answer = "";
  const next = model.map((task, index) => {
    if (index !== op.task) return task;
    const [changed, told] = stepTask(task, op, by);
    answer = told;
    return changed;
  });
  return [next, answer];
};

const holderOps = ["renew", "work", "take", "wait", "park", "stop", "hold"] as const;

/** Everything that may happen next. A worker acts on a task only with a fence that it was given, however old. */
export const opsOf = (model: Model): Op[] => {
  const ops: Op[] = [{ do: "tick" }];
  model.forEach(({ known, untaken }, task) => {
    if (!untaken) ops.push({ do: "post", task });
    known.forEach((fence, worker) => {
      ops.push({ do: "claim", worker, task });
      if (fence > 0) for (const act of holderOps) ops.push({ do: act, worker, task });
    });
  });
  return ops;
};
