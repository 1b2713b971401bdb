// What a file's own bytes say: its kind, an image's size, whether it is whole. Decodes nothing. Bytes that were looked at must
// not be written to: every call of a task shows the same ones, and what took reading them through is remembered with them.

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

const remembered = <T>(read: (bytes: Uint8Array) => T): ((bytes: Uint8Array) => T) => {
  const known = new WeakMap<Uint8Array, { readonly found: T }>();
  return (bytes) => {
    const before = known.get(bytes);
    if (before !== undefined) return before.found;
    const found = read(bytes);
    known.set(bytes, { found });
    return found;
  };
};

const startsWith = (bytes: Uint8Array, signature: readonly number[], at = 0): boolean =>
  signature.every((byte, index) => bytes[at + index] === byte);

const ascii = (text: string): number[] => Array.from(text, (letter) => letter.charCodeAt(0));

const PNG = [0x89, ...ascii("PNG\r\n\u001a\n")];
const JPEG = [0xff, 0xd8, 0xff];
/** A PDF may have a little before its header. */
const PDF_HEADER_WITHIN = 1_024;

const viewOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The media type that the first bytes tell; null for what no model takes as a file. */
export const sniffMediaType = (bytes: Uint8Array): string | null => {
  if (startsWith(bytes, PNG)) return "image/png";
  if (startsWith(bytes, JPEG)) return "image/jpeg";
  if (startsWith(bytes, ascii("GIF87a")) || startsWith(bytes, ascii("GIF89a"))) return "image/gif";
  if (startsWith(bytes, ascii("RIFF")) && startsWith(bytes, ascii("WEBP"), 8)) return "image/webp";
  if (viewOf(bytes).subarray(0, PDF_HEADER_WITHIN).includes("%PDF-")) return "application/pdf";
  return null;
};

const pngSize = (data: Buffer): ImageSize | null =>
  data.length >= 33 && data.includes("IEND") ? { width: data.readUInt32BE(16), height: data.readUInt32BE(20) } : null;

const gifSize = (data: Buffer): ImageSize | null =>
  data.length >= 13 ? { width: data.readUInt16LE(6), height: data.readUInt16LE(8) } : null;

/** Markers of JPEG that start a frame; the others between them are tables. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

const jpegSize = (data: Buffer): ImageSize | null => {
  if (!data.includes(Buffer.from([0xff, 0xd9]))) return null;
  let at = 2;
  while (at + 9 <= data.length) {
    if (data[at] !== 0xff) return null;
    const marker = data[at + 1] ?? 0;
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (isFrame(marker)) return { width: data.readUInt16BE(at + 7), height: data.readUInt16BE(at + 5) };
    at += 2 + data.readUInt16BE(at + 2);
  }
  return null;
};

const webpSize = (data: Buffer): ImageSize | null => {
  if (data.length < 30 || data.readUInt32LE(4) + 8 > data.length) return null;
  switch (data.toString("latin1", 12, 16)) {
    case "VP8 ":
      return { width: data.readUInt16LE(26) & 0x3fff, height: data.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      const bits = data.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: data.readUIntLE(24, 3) + 1, height: data.readUIntLE(27, 3) + 1 };
    default:
      return null;
  }
};

/** The size of a whole image; null for one that is cut or whose header cannot be read. */
export const sizeOfImage = remembered((bytes): ImageSize | null => {
  const data = viewOf(bytes);
  const read = { "image/png": pngSize, "image/jpeg": jpegSize, "image/gif": gifSize, "image/webp": webpSize };
  const kind = sniffMediaType(bytes);
  const size = kind === null || !Object.hasOwn(read, kind) ? null : read[kind as keyof typeof read](data);
  return size === null || size.width === 0 || size.height === 0 ? null : size;
});

/** A PDF that names an encryption dictionary: no provider opens one. */
export const looksEncrypted = remembered((bytes) => /\/Encrypt\s+\d+\s+\d+\s+R/.test(viewOf(bytes).toString("latin1")));
