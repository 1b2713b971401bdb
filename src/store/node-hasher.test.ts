// Proves the hashes against published vectors: logs must verify anywhere.
import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { toHex } from "../core/envelope.ts";
import { definitionHash, itemHash, mac, nodeHasher } from "./node-hasher.ts";

const ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

test("hashes parts as if they were one, strings as UTF-8", () => {
  expect(toHex(nodeHasher.sha256("abc"))).toBe(ABC);
  expect(toHex(nodeHasher.sha256("a", new Uint8Array([98]), "", "c"))).toBe(ABC);
  expect(nodeHasher.sha256("ä")).toEqual(nodeHasher.sha256(new Uint8Array([0xc3, 0xa4])));
});

test("hashes long parts as short ones", () => {
  const inPieces = (text: string): Uint8Array => nodeHasher.sha256(...text.match(/.{1,7}/gsu)!);
  for (const length of [65_535, 65_536, 65_537, 300_000]) {
    const text = "abc\u00e4".repeat(length / 4).padEnd(length, "x");
    const expected = createHash("sha256").update(text).digest("hex");
    expect(toHex(nodeHasher.sha256(text))).toBe(expected);
    expect(toHex(inPieces(text))).toBe(expected);
  }
});

test("gives bytes that are nobody else's", () => {
  const hash = nodeHasher.sha256("abc");
  expect(hash.constructor).toBe(Uint8Array);
  expect(hash.buffer.byteLength).toBe(32);
});

test("makes HMAC-SHA-256 under a secret (RFC 4231, cases 2 and 6)", () => {
  const secret = new TextEncoder().encode("Jefe");
  const expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
  expect(mac(secret, "what do ya want for nothing?")).toBe(expected);
  expect(itemHash(secret, "what do ya want for nothing?")).toBe(expected);
  const long = new Uint8Array(131).fill(0xaa);
  expect(mac(long, "Test Using Larger Than Block-Size Key - Hash Key First")).toBe(
    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
  );
});

test("makes the HMAC that Node makes, for any secret and text", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.string({ unit: "binary", maxLength: 300 }), (secret, text) => {
      expect(mac(secret, text)).toBe(createHmac("sha256", secret).update(text).digest("hex"));
    }),
  );
});

test("names a definition by the hash of its text", () => {
  expect(definitionHash("abc")).toBe(ABC);
});
