// What each provider takes of images and PDFs, and whether a file fits. What does not fit would fail every later request of
// its task, so it never leaves this process: a note stands in its place.
import { looksEncrypted, sizeOfImage, sniffMediaType } from "./media.ts";

/** Sizes are of the file as base64, which is what requests hold and what providers measure. */
export interface FileRules {
  readonly images: readonly string[];
  readonly maxImageChars: number;
  /** Longest side of an image in pixels, and the shorter limit where a request holds more than so many images. */
  readonly maxSide: number;
  readonly many: { readonly over: number; readonly maxSide: number } | null;
  readonly pdf: boolean;
  readonly maxPdfChars: number;
  /** All files of one request together, and how many of them. Older files give way to newer ones. */
  readonly maxRequestChars: number;
  readonly maxFiles: number;
}

const MIB = 2 ** 20;
const IMAGES = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/**
 * Sources, as of 2026-11:
 * - anthropic: platform.claude.com/docs/en/build-with-claude/vision (8000 px, 2000 px over 20 images, 100 images at a context
 *   of 200k, request of 32 MB) and …/pdf-support (32 MB). The limit of one image is measured on its base64, 5 MiB on the
 *   strictest endpoint ("image exceeds 5 MB maximum: … > 5242880 bytes", anthropics/claude-code#19631); the rest of a
 *   request needs room too.
 * - openai: developers.openai.com/api/docs/guides/images-vision (50 MB of payload, 500 images) and …/pdf-files (50 MB).
 * - compatible: servers differ. 20 MiB is what most take. A PDF goes as a `file` part, which some refuse: it must be asked
 *   for.
 */
export const fileRules: Readonly<Record<"anthropic" | "openai" | "compatible", FileRules>> = {
  anthropic: {
    images: IMAGES,
    maxImageChars: 5 * MIB,
    maxSide: 8_000,
    many: { over: 20, maxSide: 2_000 },
    pdf: true,
    maxPdfChars: 24 * MIB,
    maxRequestChars: 24 * MIB,
    maxFiles: 100,
  },
  openai: {
    images: IMAGES,
    maxImageChars: 40 * MIB,
    maxSide: 65_535,
    many: null,
    pdf: true,
    maxPdfChars: 40 * MIB,
    maxRequestChars: 40 * MIB,
    maxFiles: 500,
  },
  compatible: {
    images: IMAGES,
    maxImageChars: 20 * MIB,
    maxSide: 65_535,
    many: null,
    pdf: false,
    maxPdfChars: 20 * MIB,
    maxRequestChars: 20 * MIB,
    maxFiles: 50,
  },
};

/** A file as it stands in the log, and what the store has of it. */
export interface GivenFile {
  readonly mediaType: string;
  /** As the log says. */
  readonly size: number;
  readonly bytes: Uint8Array | null;
}

export const base64Chars = (bytes: number): number => Math.ceil(bytes / 3) * 4;

/** `image/JPG; q=1` as `image/jpeg`. */
export const plainMediaType = (mediaType: string): string => {
  const [plain = ""] = mediaType.toLowerCase().split(";");
  return plain.trim() === "image/jpg" ? "image/jpeg" : plain.trim();
};

/** In the same form on every machine. */
const mebibytes = (chars: number): string => `${(Math.floor((chars / 4) * 3 * (10 / MIB)) / 10).toFixed(1)} MB`;

const labelFault = (mediaType: string, bytes: Uint8Array): string | null => {
  const is = sniffMediaType(bytes);
  if (is === mediaType) return null;
  return `it is labelled ${mediaType}, but its bytes are ${is === null ? "something else" : `those of ${is}`}`;
};

const imageFault = (bytes: Uint8Array, rules: FileRules, images: number): string | null => {
  if (base64Chars(bytes.length) > rules.maxImageChars)
    return `it is larger than the ${mebibytes(rules.maxImageChars)} that this model takes of one image`;
  const size = sizeOfImage(bytes);
  if (size === null) return "it is cut or damaged";
  const side = rules.many !== null && images > rules.many.over ? rules.many.maxSide : rules.maxSide;
  if (Math.max(size.width, size.height) <= side) return null;
  return `it measures ${String(size.width)} by ${String(size.height)} pixels; this model takes up to ${String(side)} a side`;
};

const pdfFault = (bytes: Uint8Array, rules: FileRules): string | null => {
  if (!rules.pdf) return "this model takes no PDF";
  if (base64Chars(bytes.length) > rules.maxPdfChars)
    return `it is larger than the ${mebibytes(rules.maxPdfChars)} that this model takes of one PDF`;
  return looksEncrypted(bytes) ? "it is encrypted" : null;
};

/** Why a file cannot be shown, in words for model and person; null when it can. `images`: how many the request holds. */
export const faultOf = (file: GivenFile, rules: FileRules, images: number): string | null => {
  const { bytes, size } = file;
  if (bytes === null) return "it is not there any more";
  if (bytes.length !== size) return "it was replaced by another since it was attached";
  if (bytes.length === 0) return "it is empty";
  const mediaType = plainMediaType(file.mediaType);
  const isPdf = mediaType === "application/pdf";
  if (!isPdf && !rules.images.includes(mediaType)) return `this model takes no files of type ${mediaType}`;
  return labelFault(mediaType, bytes) ?? (isPdf ? pdfFault(bytes, rules) : imageFault(bytes, rules, images));
};
