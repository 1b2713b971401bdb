// Text as a Postgres column takes it. NUL and lone surrogates, which none does, are written as \x1a and four hex digits;
// so is \x1a itself, so that every text comes back as it was.

const UNFIT = /[\0\x1a]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const WRITTEN = /\x1a([0-9a-f]{4})/g;

export const encodeText = (text: string): string => {
  if (!text.includes("\0") && !text.includes("\x1a") && text.isWellFormed()) return text;
  return text.replace(UNFIT, (unit) => `\x1a${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
};

export const decodeText = (text: string): string =>
  text.includes("\x1a") ? text.replace(WRITTEN, (_, code: string) => String.fromCharCode(parseInt(code, 16))) : text;
