// Files as text: told apart from what is none, with one kind of line break while it is worked on.

/** A file's text. Where every line ends in CRLF, the text has LF alone and `crlf` says so. */
export interface FileText {
  readonly text: string;
  readonly crlf: boolean;
}

/** Null for bytes that are no UTF-8 text. A byte order mark stays, as U+FEFF. */
export const decodeText = (bytes: Uint8Array): FileText | null => {
  if (bytes.includes(0)) return null;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
  const crlf = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  return { text: crlf ? withLf(text) : text, crlf };
};

export const withLf = (text: string): string => text.replaceAll("\r\n", "\n");

/** The reverse of decodeText. */
export const encodeText = ({ text, crlf }: FileText): Uint8Array =>
  new TextEncoder().encode(crlf ? text.replaceAll("\n", "\r\n") : text);

/** The first `limit` characters of a longer text and a note; cut between code points. */
export const cut = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(limit - 1)) ? limit - 1 : limit;
  return `${text.slice(0, end)}… (cut: ${String(text.length)} characters)`;
};

/** A number and what it counts. */
export const counted = (number: number, noun: string): string => `${String(number)} ${noun}${number === 1 ? "" : "s"}`;
