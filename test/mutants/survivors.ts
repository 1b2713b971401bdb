// Why a mutant may survive: by file and line of code. One reason may speak for all lines of a kind.

interface Reason {
  /** Of all files if absent. */
  readonly file?: string;
  readonly code: string | RegExp;
  readonly why: string;
}

const reasons: readonly Reason[] = [];

/** Null: nobody has given one. */
export const reasonFor = (file: string, code: string): string | null =>
  reasons.find((each) => {
    if (each.file !== undefined && each.file !== file) return false;
    return typeof each.code === "string" ? each.code === code : each.code.test(code);
  })?.why ?? null;
