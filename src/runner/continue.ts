// Continue and Compact: another leg of the same turn; or room for the next request.
import { pluginRecord } from "./records.ts";
import { stateOf, type Run } from "./run.ts";

export interface Goals {
  readonly open: number;
  readonly blocked: number;
  readonly progress: boolean;
}

/** What the plugins say of goals, together; null where none keeps any. */
export const goalsOf = (run: Run): Goals | null => {
  const { plugins } = stateOf(run);
  const all = run.agent.agent.plugins.flatMap((plugin) => {
    if (plugin.goals === undefined) return [];
    const state = Object.hasOwn(plugins, plugin.name) ? plugins[plugin.name] : plugin.reducer?.initial();
    return [plugin.goals(state)];
  });
  if (all.length === 0) return null;
  return {
    open: all.reduce((sum, goals) => sum + goals.open, 0),
    blocked: all.reduce((sum, goals) => sum + goals.blocked, 0),
    progress: all.some((goals) => goals.progress),
  };
};

/** Begins another leg: the plugins put unfinished goals before the model, as context. */
export const continueTurn = (run: Run): void => {
  const records = run.agent.agent.plugins.flatMap((plugin) =>
    plugin.nextLeg === undefined ? [] : [pluginRecord(plugin, plugin.nextLeg(stateOf(run)))],
  );
  run.journal.addDerived(...records);
  // Words are what reopens the answer: without any, the same answer would be continued for ever.
  if (stateOf(run).turn?.answer !== undefined) {
    throw new Error(`task ${run.claim.taskId}: goals are open, but no plugin has words for another leg`);
  }
};

/** Makes room for the next request. What does not get smaller, or nobody can compact, leaves the context full. */
export const compact = async (run: Run): Promise<void> => {
  const state = stateOf(run);
  const before = JSON.stringify(state.messages).length;
  for (const plugin of run.agent.agent.plugins) {
    const made = await plugin.compact?.(state);
    if (made === undefined || made === null) continue;
    run.journal.add({ type: "Compacted", ...made, kept: [...made.kept] });
    run.contextOver = false;
    run.contextFull = JSON.stringify(stateOf(run).messages).length >= before;
    return;
  }
  run.contextFull = true;
};
