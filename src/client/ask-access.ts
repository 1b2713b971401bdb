// What the access port says of whoever asks. A place that is closed to them is no secret; the tasks in it are.
import { isAllowed } from "../access/access.ts";
import { ClientError, type Client } from "./client.ts";

/** Throws `refused` unless the asker may see the tasks of their place, or act in it. */
export const requireAccess = async ({ access, principal, place }: Client, to: "see" | "act"): Promise<void> => {
  if (await isAllowed(access, { principal, place, to })) return;
  const what = to === "see" ? "see tasks" : "act";
  throw new ClientError("refused", `${principal} may not ${what} in ${place}, or nobody can say so now`);
};
