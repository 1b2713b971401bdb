// A text as one line of a terminal.

/** Without line breaks, cut to `chars` characters. */
export const oneLine = (text: string, chars: number): string => {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const points = Array.from(line);
  return points.length <= chars ? line : `${points.slice(0, chars - 1).join("")}…`;
};
