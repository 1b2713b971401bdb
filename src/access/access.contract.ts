// What any access port must do, whoever it asks.
import { describe, expect, test } from "vitest";
import { isAllowed, type Access, type Question } from "./access.ts";

export interface AccessSubject {
  readonly access: Access;
  /** Somebody, and a place where they may do everything. */
  readonly principal: string;
  readonly place: string;
  /** A place that they know nothing of. */
  readonly closed: string;
  /** Somebody that the place does not know. */
  readonly stranger: string;
  /** A source that they may read there. */
  readonly source: string;
}

/** `open` makes a fresh port. */
export const accessContract = (name: string, open: () => AccessSubject | Promise<AccessSubject>): void => {
  const kinds = (subject: Pick<AccessSubject, "principal" | "place" | "source">): Question[] => {
    const { principal, place, source } = subject;
    return [
      { principal, place, to: "see" },
      { principal, place, to: "act" },
      { principal, place, to: "read", source },
    ];
  };

  describe(`access: ${name}`, () => {
    test("lets somebody see, act and read where they may, and says so again", async () => {
      const subject = await open();
      for (const question of [...kinds(subject), ...kinds(subject)]) {
        expect(await subject.access.may(question), question.to).toBe(true);
      }
    });

    test("lets nobody into a place that is closed to them", async () => {
      const subject = await open();
      for (const question of kinds({ ...subject, place: subject.closed })) {
        expect(await isAllowed(subject.access, question), question.to).toBe(false);
      }
    });

    test("lets no stranger in", async () => {
      const subject = await open();
      for (const question of kinds({ ...subject, principal: subject.stranger })) {
        expect(await isAllowed(subject.access, question), question.to).toBe(false);
      }
    });

    test("takes no name for another: not its beginning, not a longer one, not one that every object has", async () => {
      const subject = await open();
      const { access, principal, place, source } = subject;
      const names = (name: string): string[] => [name.slice(0, -1), `${name}x`, "__proto__", "constructor", ""];
      for (const other of names(principal)) {
        expect(await isAllowed(access, { principal: other, place, to: "act" }), other).toBe(false);
      }
      for (const other of names(place)) {
        expect(await isAllowed(access, { principal, place: other, to: "see" }), other).toBe(false);
        expect(await isAllowed(access, { principal, place: other, to: "read", source }), other).toBe(false);
      }
    });

    test("answers questions asked at once, each for itself", async () => {
      const subject = await open();
      const { access, principal, place, closed } = subject;
      const places = [place, closed, place, closed];
      const answers = await Promise.all(places.map((each) => isAllowed(access, { principal, place: each, to: "act" })));
      expect(answers).toEqual([true, false, true, false]);
    });
  });
};
