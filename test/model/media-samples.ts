// Small images and PDFs that are what they say: headers and ends as their formats demand.

const bytes = (...parts: readonly (string | readonly number[])[]): Uint8Array =>
  new Uint8Array(
    Buffer.concat(parts.map((part) => Buffer.from(typeof part === "string" ? Buffer.from(part, "latin1") : part))),
  );

const be16 = (value: number): number[] => [value >> 8, value & 255];
const be32 = (value: number): number[] => [...be16(value >>> 16), ...be16(value & 0xffff)];
const le16 = (value: number): number[] => [value & 255, value >> 8];
const le24 = (value: number): number[] => [...le16(value & 0xffff), value >>> 16];
const le32 = (value: number): number[] => [...le16(value & 0xffff), ...le16(value >>> 16)];

/** With `padding` bytes before its end. */
export const png = (width: number, height: number, padding = 0): Uint8Array =>
  bytes(
    [0x89],
    "PNG\r\n\u001a\n",
    be32(13),
    "IHDR",
    be32(width),
    be32(height),
    [8, 2, 0, 0, 0, 1, 2, 3, 4],
    new Array<number>(padding).fill(0),
    be32(0),
    "IEND",
    [0xae, 0x42, 0x60, 0x82],
  );

export const jpeg = (width: number, height: number): Uint8Array =>
  bytes(
    [0xff, 0xd8, 0xff, 0xe0],
    be16(4),
    [0, 0],
    [0xff, 0xc0],
    be16(11),
    [8],
    be16(height),
    be16(width),
    [1, 0, 0, 0, 0xff, 0xd9],
  );

export const gif = (width: number, height: number): Uint8Array =>
  bytes("GIF89a", le16(width), le16(height), [0, 0, 0, 0x3b]);

export const webp = (form: "VP8 " | "VP8L" | "VP8X", width: number, height: number): Uint8Array => {
  const body = {
    "VP8 ": () => [...new Array<number>(6).fill(0), ...le16(width), ...le16(height)],
    VP8L: () => [0x2f, ...le32((width - 1) | ((height - 1) << 14)), ...new Array<number>(5).fill(0)],
    VP8X: () => [0, 0, 0, 0, ...le24(width - 1), ...le24(height - 1)],
  }[form]();
  const padded = [...body, ...new Array<number>(Math.max(0, 10 - body.length)).fill(0)];
  return bytes("RIFF", le32(4 + 8 + padded.length), "WEBP", form, le32(padded.length), padded);
};

export const pdf = (more = ""): Uint8Array => bytes(`%PDF-1.7\n1 0 obj\n<< >>\nendobj\ntrailer\n<< ${more}>>\n%%EOF\n`);
