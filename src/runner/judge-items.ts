// What an item that was accepted once may still do when it is taken: access and sources are asked again, and the reason
// that one does nothing is written on it. What its poster may ask at all is the core's to say (core/people.ts).
import { isAllowed, type Question } from "../access/access.ts";
import { changesOutside, type Event } from "../core/events.ts";
import type { Item, ItemOf } from "../core/items.ts";
import { refusalFor, type Refusal } from "../core/people.ts";
import type { TaskState } from "../core/state.ts";
import { coreRecord } from "./records.ts";
import { stateOf, type Run } from "./run.ts";

/** After these the task has other people or another place: what follows is judged by that. */
const changesPeople = (item: Item): boolean => item.type === "Collaborate" || item.type === "Handoff";

/**
 * The items in pieces: each up to one that changes who may ask what, and others' corrections apart, which are judged by the turn
 * that the items before them left.
 */
export const inPieces = (items: readonly Item[], owner: string): Item[][] => {
  const steers = (item: Item): boolean => item.type === "Steer" && item.by !== owner;
  const pieces: Item[][] = [];
  let last: Item | undefined;
  for (const item of items) {
    if (last === undefined || changesPeople(last) || steers(item) !== steers(last)) pieces.push([]);
    pieces.at(-1)?.push(item);
    last = item;
  }
  return pieces;
};

/** What must be allowed for the item to be carried out now. */
const questionsOf = (state: TaskState, item: Item, sources: readonly string[]): readonly Question[] => {
  const { owner, origin } = state;
  switch (item.type) {
    case "Steer":
      return item.by === owner ? [] : [{ principal: item.by, place: origin.place, to: "act" }];
    case "Collaborate":
      return item.change === "remove" ? [] : [{ principal: item.principal, place: origin.place, to: "act" }];
    case "Handoff": {
      const there = { principal: owner, place: item.origin.place };
      return [{ ...there, to: "act" }, ...sources.map((source): Question => ({ ...there, to: "read", source }))];
    }
    default:
      return [];
  }
};

/** The first no among the questions, as a reason. */
const askAccess = async (run: Run, questions: readonly Question[]): Promise<Refusal | null> => {
  const answers = await Promise.all(questions.map((question) => isAllowed(run.ports.access, question)));
  const no = questions.find((_, index) => answers[index] === false);
  if (no === undefined) return null;
  return no.to === "read" ? "no_source_access" : "no_access";
};

/** Ids of the sources that the task was given, as far as its log has committed. */
const sourcesOf = async (run: Run): Promise<string[]> => {
  const rows = await run.ports.store.readRows({ taskId: run.claim.taskId, table: "sources" });
  return rows.map((row) => row.key);
};

/** A write was dispatched, and its outcome did not come: it is about to become unknown. */
const hasLostWrite = ({ announced }: Run, { calls }: TaskState): boolean =>
  calls.some((call) => call.phase === "started" && changesOutside(call) && !announced.has(call.id));

/** The items of one piece, each with the reason that it does nothing, if there is one. */
export const judged = async (run: Run, piece: readonly Item[]): Promise<Item[]> => {
  const state = stateOf(run);
  const asked = new Map<string, Promise<Refusal | null>>();
  const judge = async (item: Item): Promise<Item> => {
    const refused = refusalFor(state, item);
    if (refused !== null) return { ...item, refused };
    if (item.type === "Handoff" && hasLostWrite(run, state)) return { ...item, refused: "unknown_action" };
    const questions = questionsOf(state, item, item.type === "Handoff" ? await sourcesOf(run) : []);
    if (questions.length === 0) return item;
    // A person's many corrections ask once.
    const name = JSON.stringify(questions);
    const answer = asked.get(name) ?? askAccess(run, questions);
    asked.set(name, answer);
    const no = await answer;
    return no === null ? item : { ...item, refused: no };
  };
  return Promise.all(piece.map(judge));
};

const handoffRecords = (state: TaskState, { origin, by }: ItemOf<"Handoff">): Event[] => [
  ...state.collaborators.map((principal) => coreRecord("collaborator", { principal, change: "remove", by })),
  coreRecord("handoff", { origin: { ...origin, private: true }, by }),
];

/** What a piece's last item did to the people around the task, as records: nothing where it was refused. */
export const peopleRecords = (state: TaskState, item: Item | undefined): Event[] => {
  if (item === undefined || item.refused !== undefined) return [];
  if (item.type === "Handoff") return handoffRecords(state, item);
  if (item.type !== "Collaborate") return [];
  const { principal, change, by } = item;
  const isNamed = state.collaborators.includes(principal);
  if (principal === state.owner || isNamed === (change === "add")) return [];
  return [coreRecord("collaborator", { principal, change, by })];
};
