// What was promised, one row each. The patch of a kept one must make its test fail (`npm run test:long -- --promises`).
// docs/promises.md is made from this (`npm run promises`).
import { actions } from "./actions.ts";
import { approvals } from "./approvals.ts";
import { evidence } from "./evidence.ts";
import { frontEnds } from "./front-ends.ts";
import { models } from "./models.ts";
import { people } from "./people.ts";
import type { Promised } from "./promise.ts";
import { records } from "./records.ts";
import { workspace } from "./workspace.ts";

export const promises: readonly Promised[] = [
  ...[...records, ...workspace, ...actions, ...evidence],
  ...[...models, ...approvals, ...people, ...frontEnds],
];
