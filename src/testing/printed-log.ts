// Printed logs in the form in which tests compare them.

const letter = (index: number): string => String.fromCharCode(65 + index);

/** Request hashes by letters, in order of appearance, so that the same hash shows as the same letter. */
const byLetters = (log: string): string => {
  const seen: string[] = [];
  return log.replaceAll(/request_hash=\S+/g, (hash) => {
    if (!seen.includes(hash)) seen.push(hash);
    return `request_hash=${letter(seen.indexOf(hash))}`;
  });
};

/** A printed log as tests write it down: indentation, alignment and outer empty lines are not part of it. */
export const lines = (written: string): string => written.replaceAll(/ +/g, " ").replaceAll(/^ | $/gm, "").trim();

/** What the printed log is compared with: the pickup's texts, hashes and times to come are left out. */
export const comparable = (log: string): string =>
  lines(
    byLetters(log)
      .replaceAll(/(core\/(?:prompts|plugins)).*/g, "$1")
      .replaceAll(/retryAt: \d+/g, "retryAt: …")
      .replaceAll(/(inputHash|definition): (?:"?[0-9a-f]{64}"?|"?[0-9a-f]+…\(\d+ chars\))/g, "$1: …")
      .replaceAll(/(expiresAt|dueAt): [\d.]+/g, "$1: …"),
  );
