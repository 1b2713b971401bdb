// Which task a person means, and whether it is theirs. Ids are names, not permissions.
import type { TaskRow } from "../store/store.ts";
import { requireAccess } from "./ask-access.ts";
import { ClientError, type Client } from "./client.ts";

const isTheirs = ({ principal, place }: Client, row: TaskRow): boolean =>
  row.owner === principal && row.origin.place === place;

/** A child's id holds its parent's; the beginning of a root id means the root. */
const isRoot = (row: TaskRow): boolean => row.parent === null;

/** The same to a stranger, to a collaborator, and to the owner in another place. */
export const notFound = ({ principal, store }: Client, idOrPrefix: string): ClientError =>
  new ClientError("not_found", `${principal} has no task ${idOrPrefix} in ${store.name}`);

/**
 * The task with this id, or the one root whose id begins so. Codes: `not_found` (also for another's task), `ambiguous`,
 * `refused` (the place is closed to the asker).
 */
export const findTask = async (client: Client, idOrPrefix: string): Promise<TaskRow> => {
  await requireAccess(client, "see");
  const exact = await client.store.getTask({ taskId: idOrPrefix });
  if (exact !== null && isTheirs(client, exact)) return exact;
  const { principal: owner, place } = client;
  const listed =
    idOrPrefix === "" ? [] : await client.store.listTasks({ owner, place, idPrefix: idOrPrefix, limit: 1_000 });
  const [first, ...more] = idOrPrefix.includes(".") ? listed : listed.filter(isRoot);
  if (first === undefined) throw notFound(client, idOrPrefix);
  if (more.length > 0) {
    throw new ClientError("ambiguous", `${String(more.length + 1)} tasks have an id that begins with ${idOrPrefix}`);
  }
  return first;
};
