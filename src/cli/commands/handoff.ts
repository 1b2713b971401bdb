// perdure handoff: moves a task to another place, where it is private from then on.
import { post } from "../../client/post.ts";
import { showTask } from "../../client/show-task.ts";
import type { Item } from "../../core/items.ts";
import { loadState, readEvents } from "../../client/read-log.ts";
import { defineCommand, UsageError, workOptions } from "../command.ts";
import { CommandError } from "../failure.ts";
import { addModelOf, postOnly } from "../post-and-work.ts";
import { openSession, type Session } from "../session.ts";
import { workToRest } from "../work.ts";
import { openWorkshop } from "../workshop.ts";

/** The item as the log took it; undefined while nobody has. */
const takenItem = async ({ store }: Session, taskId: string, seq: number): Promise<Item | undefined> => {
  const events = await readEvents(store, { taskId });
  return events
    .flatMap(({ event }) => (event.type === "InputTaken" ? event.items : []))
    .find((item) => item.seq === seq && item.type === "Handoff");
};

export const handoff = defineCommand({
  name: "handoff",
  summary: "move a task of yours to another place, private from then on",
  words: { task: "required" },
  options: {
    to: { type: "string", value: "PLACE", about: "where to; access must let you act there, and read its sources" },
    "front-end": { type: "string", value: "NAME", about: "what serves that place; default cli" },
    ...workOptions,
  },
  notes: [
    "Only there is the task found then (perdure show <task> --place PLACE), by you alone. Its collaborators are dismissed,",
    "and what was approved and has not begun asks anew. While an action is unknown or an approval is pending, it stays. Of",
    "two moves at once the second is refused.",
  ].join("\n"),
  perform: async (program, { options, words: { task } }) => {
    const { to: place, "front-end": frontEnd = "cli" } = options;
    const json = options.json === true;
    if (place === undefined || place === "") throw new UsageError("handoff needs --to PLACE");
    await using session = await openSession(program, options);
    const before = await showTask(session.client, task);
    const { taskId } = before;
    const origin = { frontEnd, place, conversation: taskId, private: true };
    const posted = { taskId, item: { type: "Handoff", origin } } as const;
    if (options["no-wait"] === true) return await postOnly(program, session, posted, json);
    const workshop = await openWorkshop(program, session);
    await addModelOf(workshop, session, before, false);
    const { seq } = await post(session.client, posted);
    const stopped = await workToRest(program, session, workshop, taskId);
    if (stopped !== null) return stopped;
    const item = await takenItem(session, taskId, seq);
    if (item?.refused !== undefined) {
      throw new CommandError(`task ${taskId} was not moved (${item.refused}): it stays in ${before.origin.place}`);
    }
    const state = await loadState(session.store, taskId);
    if (json) program.output.json({ taskId, origin: state.origin });
    else {
      const there = state.origin.place;
      const shows = session.again(`show ${taskId}`, { place: there });
      program.output.tell(`task ${taskId} lives in ${there} now, private; only there is it found: ${shows}`);
    }
    return 0;
  },
});
