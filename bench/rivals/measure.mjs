// What the loops of rivals share: how they time, as our own rows do.

/** What a step gives: 500 characters, as our tool does. */
export const output = "some words of a file or a reply ".repeat(16).slice(0, 500);

/** How long `work` takes (ms). */
export const timed = async (work) => {
  const before = performance.now();
  await work();
  return performance.now() - before;
};

/** Times (ms) of `samples` small ones, one at a time. */
export const timesOf = async (one, samples) => {
  const times = [];
  for (let n = 0; n < samples; n += 1) times.push(await timed(one));
  return times;
};

/** `count` small ones, never more than `inFlight` at once; how many a second. */
export const perSecondOf = async (one, count, inFlight) => {
  let begun = 0;
  const loop = async () => {
    for (begun += 1; begun <= count; begun += 1) await one();
  };
  const took = await timed(() => Promise.all(Array.from({ length: inFlight }, loop)));
  return (count * 1_000) / took;
};
