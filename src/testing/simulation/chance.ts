// Seeded chance: one small generator, so that a seed names a run for ever.

export interface Chance {
  /** An integer in [0, count). */
  below(count: number): number;
  /** In [0, 1). */
  fraction(): number;
  bytes(count: number): Uint8Array;
  id(): string;
}

/** splitmix32 over a 32-bit state. Not for secrets. */
export const createChance = (seed: number): Chance => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  const fraction = (): number => next() / 2 ** 32;
  let ids = 0;
  return {
    below: (count) => Math.floor(fraction() * count),
    fraction,
    bytes: (count) => Uint8Array.from({ length: count }, () => next() & 255),
    id: () => {
      ids += 1;
      return `id${String(ids)}x${next().toString(36)}`;
    },
  };
};
