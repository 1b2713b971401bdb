// Who may do what, as the configuration says it. No service is asked; a place that is not named is closed.
import type { Access, Question } from "../access.ts";

/** Of a place: everybody that a front end has authenticated, or these. */
export type Allowed = "everyone" | readonly string[];

export interface LocalAccessOptions {
  /** Who is known at all. Default: everybody that a front end has authenticated. */
  readonly principals?: readonly string[];
  /** Who may see each place, act in it, and read its sources. */
  readonly places: Readonly<Record<string, Allowed>>;
  /** Sources that only these may read; any other is as open as the place. */
  readonly sources?: Readonly<Record<string, Allowed>>;
}

const holds = (allowed: Allowed | undefined, principal: string): boolean =>
  allowed === "everyone" || (allowed?.includes(principal) ?? false);

const own = <T>(of: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(of, name) ? of[name] : undefined;

export const createLocalAccess = ({ principals, places, sources = {} }: LocalAccessOptions): Access => ({
  may: (question: Question) => {
    const { principal, place } = question;
    const isKnown = principals === undefined || principals.includes(principal);
    const isThere = isKnown && holds(own(places, place), principal);
    if (question.to !== "read" || !Object.hasOwn(sources, question.source)) return Promise.resolve(isThere);
    return Promise.resolve(isThere && holds(own(sources, question.source), principal));
  },
});

/** Every place is open to everybody: for a program that has checked who asks, and where, before it does. */
export const openAccess: Access = { may: () => Promise.resolve(true) };
