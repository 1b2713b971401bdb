// PORT: who may see a place and act there, and who may read a source. Asked by front ends and by workers, each time anew;
// a task's own rules (its owner, its collaborators) are the kernel's, and not asked here.

/**
 * - `see`: know of the tasks in a place, and read those that are one's own.
 * - `act`: begin tasks there, post to them, be named as a collaborator, be moved to.
 * - `read`: read what a source holds now, for a task that lives in that place.
 */
export type Question = { readonly principal: string; readonly place: string } & (
  { readonly to: "see" } | { readonly to: "act" } | { readonly to: "read"; readonly source: string }
);

export interface Access {
  /**
   * Whether a principal (`kind:id`, authenticated by whoever asks) may do that now. Has no effect; may be asked often.
   * Only `true` is yes: whoever asks takes a rejection, and an answer that does not come, for a no (`isAllowed`).
   */
  may(question: Question): Promise<boolean>;
}

/** The answer, failing closed. Never rejects. */
export const isAllowed = async (access: Access, question: Question): Promise<boolean> => {
  try {
    return (await access.may(question)) === true;
  } catch {
    return false;
  }
};

/** Of a place or a source: everybody that a front end has authenticated, or these. */
export type Allowed = "everyone" | readonly string[];

/** Who may do what, written down: what a configuration says, and the `local` adapter holds to. */
export interface AccessRules {
  /** Who is known at all. Default: everybody that a front end has authenticated. */
  readonly principals?: readonly string[];
  /** Who may see each place, act in it, and read its sources. What is not named is closed. */
  readonly places: Readonly<Record<string, Allowed>>;
  /** Sources that only these may read; any other is as open as the place. */
  readonly sources?: Readonly<Record<string, Allowed>>;
}
