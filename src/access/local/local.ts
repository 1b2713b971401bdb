// Who may do what, as the configuration says it. No service is asked; a place that is not named is closed.
import type { Access, AccessRules, Allowed, Question } from "../access.ts";

const holds = (allowed: Allowed | undefined, principal: string): boolean =>
  allowed === "everyone" || (allowed?.includes(principal) ?? false);

const own = <T>(of: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(of, name) ? of[name] : undefined;

export const createLocalAccess = ({ principals, places, sources = {} }: AccessRules): Access => ({
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
