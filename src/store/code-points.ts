// The one order of names and keys, in every store: what a database's binary collation of UTF-8 gives.

/** Compares by code point, as databases do. */
export const byCodePoint = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
