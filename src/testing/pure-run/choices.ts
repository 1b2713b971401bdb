// A stream of choices in place of chance, so that a property test can shrink what happened.

export interface Choices {
  /** An integer in [0, count); 0 once the stream is spent, which is the ordinary course of things. */
  below(count: number): number;
  /** True once in `count`; never after the stream is spent. */
  once(count: number): boolean;
  of<const T>(values: readonly [T, ...T[]]): T;
  readonly spent: boolean;
}

export const choicesOf = (numbers: readonly number[]): Choices => {
  let next = 0;
  const below = (count: number): number => {
    const number = numbers[next] ?? 0;
    next += 1;
    return number % count;
  };
  return {
    below,
    once: (count) => below(count) === count - 1,
    of: (values) => values[below(values.length)] ?? values[0],
    get spent() {
      return next >= numbers.length;
    },
  };
};
