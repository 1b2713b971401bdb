// One promise: whether it holds now, the test that shows it, and a patch that breaks it and makes the test fail.

export interface Patch {
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** The test's own title, without those of the groups that it stands in; of `each`, as it is written. */
export interface Shown {
  readonly file: string;
  readonly name: string;
}

export type Promised = { readonly about: string; readonly promise: string } & (
  | { readonly status: "kept"; readonly test: Shown; readonly patch: Patch }
  | { readonly status: `later: ${string}` | `n/a: ${string}` }
);

export type Kept = Extract<Promised, { readonly status: "kept" }>;

export const isKept = (promised: Promised): promised is Kept => promised.status === "kept";

type Without = Exclude<Promised["status"], "kept">;

/** The rows of one subject. */
export const about = (subject: string) => ({
  kept: (promise: string, [file, name]: readonly [string, string], patch: readonly [string, string, string]): Kept => ({
    ...{ about: subject, promise, status: "kept", test: { file, name } },
    patch: { file: patch[0], find: patch[1], replace: patch[2] },
  }),
  without: (status: Without, ...promises: string[]): Promised[] =>
    promises.map((promise) => ({ about: subject, promise, status })),
});
