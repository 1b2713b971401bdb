import { describe, expect, test } from "vitest";
import { gif, jpeg, pdf, png, webp } from "../../../test/model/media-samples.ts";
import { base64Chars, faultOf, fileRules, type FileRules } from "./file-rules.ts";
import { looksEncrypted, sizeOfImage, sniffMediaType } from "./media.ts";

const faultIn = (mediaType: string, bytes: Uint8Array, rules: FileRules = fileRules.anthropic, images = 1) =>
  faultOf({ mediaType, size: bytes.length, bytes }, rules, images);

describe("bytes say what they are", () => {
  test.each([
    ["image/png", png(3, 2), { width: 3, height: 2 }],
    ["image/jpeg", jpeg(500, 400), { width: 500, height: 400 }],
    ["image/gif", gif(7, 9), { width: 7, height: 9 }],
    ["image/webp", webp("VP8 ", 300, 200), { width: 300, height: 200 }],
    ["image/webp", webp("VP8L", 16_000, 1), { width: 16_000, height: 1 }],
    ["image/webp", webp("VP8X", 70_000, 3), { width: 70_000, height: 3 }],
    ["application/pdf", pdf(), null],
    [null, new TextEncoder().encode("hello"), null],
    [null, new Uint8Array(0), null],
  ])("%s", (mediaType, bytes, size) => {
    expect(sniffMediaType(bytes)).toBe(mediaType);
    expect(sizeOfImage(bytes)).toEqual(size);
  });

  test("what took reading them through is remembered with them, for as long as somebody holds them", () => {
    const paper = pdf("/Encrypt 1 0 R ");
    expect(looksEncrypted(paper)).toBe(true);
    const image = png(3, 2);
    expect(sizeOfImage(image)).toEqual({ width: 3, height: 2 });
    // Nobody writes to bytes that were looked at; here it shows that they are not read again.
    paper.fill(0);
    image.fill(0);
    expect(looksEncrypted(paper)).toBe(true);
    expect(sizeOfImage(image)).toEqual({ width: 3, height: 2 });
    expect(looksEncrypted(paper.slice())).toBe(false);
    expect(sizeOfImage(image.slice())).toBeNull();
  });

  test("bytes in the middle of a larger buffer are read as their own", () => {
    const around = new Uint8Array([1, 2, 3, ...png(3, 2), 4, 5]);
    const within = around.subarray(3, around.length - 2);
    expect(sizeOfImage(within)).toEqual({ width: 3, height: 2 });
  });

  test("an image cut anywhere is not whole", () => {
    for (const image of [png(3, 2, 40), jpeg(5, 4), webp("VP8X", 8, 8)]) {
      for (let kept = 12; kept < image.length - 8; kept += 1)
        expect(sizeOfImage(image.subarray(0, kept)), String(kept)).toBeNull();
    }
  });
});

describe("what fits", () => {
  test.each([
    ["image/png", png(3, 2)],
    ["image/jpg", jpeg(3, 2)],
    ["IMAGE/JPEG; q=1", jpeg(3, 2)],
    ["image/gif", gif(3, 2)],
    ["image/webp", webp("VP8L", 3, 2)],
    ["application/pdf", pdf()],
  ])("%s does", (mediaType, bytes) => {
    expect(faultIn(mediaType, bytes)).toBeNull();
  });

  test.each([
    ["image/png", jpeg(3, 2), "it is labelled image/png, but its bytes are those of image/jpeg"],
    ["image/png", new TextEncoder().encode("<svg/>"), "it is labelled image/png, but its bytes are something else"],
    ["application/pdf", png(3, 2), "it is labelled application/pdf, but its bytes are those of image/png"],
    ["image/bmp", png(3, 2), "this model takes no files of type image/bmp"],
    ["image/png", new Uint8Array(0), "it is empty"],
    ["image/png", png(3, 2).subarray(0, 30), "it is cut or damaged"],
    ["image/png", png(0, 2), "it is cut or damaged"],
    ["image/png", png(8_001, 2), "it measures 8001 by 2 pixels; this model takes up to 8000 a side"],
    ["application/pdf", pdf("/Encrypt 5 0 R "), "it is encrypted"],
  ])("%s does not: %s", (mediaType, bytes, says) => {
    expect(faultIn(mediaType, bytes)).toBe(says);
  });

  test("the limit is on the base64, to the byte", () => {
    const whole = (fileRules.anthropic.maxImageChars / 4) * 3;
    const of = (size: number): Uint8Array => {
      const bytes = new Uint8Array(size);
      bytes.set(png(3, 2));
      return bytes;
    };
    expect(base64Chars(whole)).toBe(fileRules.anthropic.maxImageChars);
    expect(faultIn("image/png", of(whole))).toBeNull();
    expect(faultIn("image/png", of(whole + 1))).toContain("larger than the 3.7 MB");
    expect(faultIn("image/png", of(whole + 1), fileRules.openai)).toBeNull();
  });

  test("a request with many images takes smaller ones", () => {
    expect(faultIn("image/png", png(2_001, 2), fileRules.anthropic, 20)).toBeNull();
    expect(faultIn("image/png", png(2_001, 2), fileRules.anthropic, 21)).toContain("up to 2000 a side");
  });

  test("what the log says of a file is held against what is there", () => {
    const bytes = png(3, 2);
    expect(faultOf({ mediaType: "image/png", size: 5, bytes }, fileRules.openai, 1)).toContain("replaced");
    expect(faultOf({ mediaType: "image/png", size: 5, bytes: null }, fileRules.openai, 1)).toContain("not there");
  });
});
