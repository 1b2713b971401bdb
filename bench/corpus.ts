// Seeded text, the same in every run: words as unevenly frequent as those of a language, about as compressible as prose.

/** Numbers in [0, 1) that depend on the seed alone. */
export const createRandom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

const LETTERS = ["bcdfghklmnprstvw", "aeiou"];
const VOCABULARY = 3_000;
const CHARS = 1_000_000;

const wordOf = (random: () => number): string => {
  let word = "";
  for (let length = 2 + Math.floor(random() * 7); word.length < length;) {
    const letters = LETTERS[word.length % 2] ?? "";
    word += letters.charAt(Math.floor(random() * letters.length));
  }
  return word;
};

const makeCorpus = (): string => {
  const random = createRandom(7);
  const vocabulary = Array.from({ length: VOCABULARY }, () => wordOf(random));
  const words: string[] = [];
  for (let chars = 0; chars < CHARS;) {
    // The n-th word comes about 1/n as often as the first.
    const word = vocabulary[Math.floor(VOCABULARY ** random()) - 1] ?? "";
    const ended = random() < 0.08 ? ".\n" : " ";
    words.push(word, ended);
    chars += word.length + ended.length;
  }
  return words.join("");
};

const corpus = makeCorpus();

/** `chars` characters from a place that `place` (any number) decides; no two near places share their text. */
export const textAt = (place: number, chars: number): string => {
  const start = Math.imul(place + 1, 2_654_435_761) >>> 0;
  const from = start % (corpus.length - chars);
  return corpus.slice(from, from + chars);
};

/** `length` hex digits that depend on the place alone; as good as random. */
export const hexAt = (place: number, length: number): string => {
  const random = createRandom(place);
  let hex = "";
  while (hex.length < length)
    hex += Math.floor(random() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, "0");
  return hex.slice(0, length);
};
