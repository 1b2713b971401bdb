// A span of time as people write it: a whole number and a unit.

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 7 * 86_400 };

export const DURATION_WORDS = "a whole number with s, m, h, d or w, such as 30d";

/** In ms; null for what is none, or beyond what a clock counts. */
export const parseDuration = (text: string): number | null => {
  const [, number = "", unit = ""] = /^(\d+)([smhdw])$/.exec(text) ?? [];
  const ms = Number(number) * (units[unit] ?? 0) * 1_000;
  return number !== "" && Number.isSafeInteger(ms) ? ms : null;
};
