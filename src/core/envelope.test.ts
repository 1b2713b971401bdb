import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { created, ended, finished, say, taken } from "../testing/given.ts";
import { CodecError, decodeEvent } from "./codec.ts";
import {
  FIRST_CHAIN,
  equalBytes,
  SALT_BYTES,
  chainOf,
  digestOf,
  redactionChain,
  sealEvents,
  toHex,
  tombstoneDigest,
  type Hasher,
} from "./envelope.ts";

const sha256: Hasher = {
  sha256(...parts) {
    const hash = createHash("sha256");
    for (const part of parts) hash.update(part);
    return new Uint8Array(hash.digest());
  },
};

const salts = (): (() => Uint8Array) => {
  let next = 0;
  return () => new Uint8Array(SALT_BYTES).fill((next += 1));
};
const start = { seq: 0, chain: FIRST_CHAIN };
const events = [created(), taken(say("hi")), ended()];

const concatenated = (...parts: readonly (string | Uint8Array)[]): string =>
  createHash("sha256")
    .update(Buffer.concat(parts.map((part) => Buffer.from(part))))
    .digest("hex");

describe("sealed events", () => {
  const sealed = sealEvents(sha256, start, events, salts());

  test("follow one another, each with a salt of its own", () => {
    expect(sealed.map(({ seq, type }) => [seq, type])).toEqual([
      [1, "TaskCreated"],
      [2, "InputTaken"],
      [3, "TaskEnded"],
    ]);
    expect(new Set(sealed.map(({ salt }) => toHex(salt))).size).toBe(3);
    expect(sealed.map(({ type, body }) => decodeEvent(type, body))).toEqual(events);
  });

  test("carry SHA-256(salt, bytes), chained by SHA-256(chain before, seq, type, digest)", () => {
    let before = FIRST_CHAIN;
    for (const { seq, type, salt, body, digest, chain } of sealed) {
      expect(toHex(digest)).toBe(concatenated(salt, body));
      expect(toHex(chain)).toBe(concatenated(before, `${String(seq)} ${type} `, digest));
      before = chain;
    }
  });

  test("are the same however they are batched", () => {
    const salt = salts();
    const first = sealEvents(sha256, start, events.slice(0, 1), salt);
    const { seq, chain } = first[0] ?? start;
    expect([...first, ...sealEvents(sha256, { seq, chain }, events.slice(1), salt)]).toEqual(sealed);
    expect(sealEvents(sha256, start, [], salt)).toEqual([]);
  });

  test("an event that cannot be written is refused", () => {
    const broken = { ...finished("c1_0"), status: 5 } as never;
    expect(() => sealEvents(sha256, start, [broken], salts())).toThrow(CodecError);
  });
});

test("no two of type, seq, digest, salt, body and chain can change and leave the hash", () => {
  const one = new Uint8Array(32).fill(1);
  const two = new Uint8Array(32).fill(2);
  const chains = [
    chainOf(sha256, one, 1, "TaskEnded", two),
    chainOf(sha256, two, 1, "TaskEnded", two),
    chainOf(sha256, one, 2, "TaskEnded", two),
    chainOf(sha256, one, 1, "Waiting", two),
    chainOf(sha256, one, 1, "TaskEnded", one),
    chainOf(sha256, one, 11, "TaskEnded", two),
    redactionChain(sha256, one, { n: 1, seq: 1, digest: two }),
    redactionChain(sha256, one, { n: 2, seq: 1, digest: two }),
    redactionChain(sha256, one, { n: 1, seq: 2, digest: two }),
    redactionChain(sha256, one, { n: 11, seq: 1, digest: two }),
    redactionChain(sha256, one, { n: 1, seq: 11, digest: two }),
    redactionChain(sha256, two, { n: 1, seq: 1, digest: two }),
    redactionChain(sha256, one, { n: 1, seq: 1, digest: one }),
    digestOf(sha256, one, "{}"),
    digestOf(sha256, two, "{}"),
    digestOf(sha256, one, "{ }"),
    tombstoneDigest(sha256, "Waiting", "{}"),
    tombstoneDigest(sha256, "TaskEnded", "{}"),
    tombstoneDigest(sha256, "Waiting", "{ }"),
  ];
  expect(new Set(chains.map(toHex)).size).toBe(chains.length);
});

test("a tombstone's digest needs no salt: it covers no content", () => {
  expect(toHex(tombstoneDigest(sha256, "Waiting", '{"on":"input"}'))).toBe(
    concatenated('tombstone Waiting {"on":"input"}'),
  );
});

test("bytes are equal that are as many and the same", () => {
  const bytes = (...values: number[]) => new Uint8Array(values);
  expect(equalBytes(bytes(1, 2), bytes(1, 2))).toBe(true);
  expect(equalBytes(bytes(1, 2), bytes(1, 3))).toBe(false);
  expect(equalBytes(bytes(1), bytes(1, 2))).toBe(false);
  expect(equalBytes(bytes(), bytes(1))).toBe(false);
});

test("hex is lower case, two digits a byte", () => {
  expect(toHex(new Uint8Array([0, 9, 10, 255]))).toBe("00090aff");
  expect(toHex(FIRST_CHAIN)).toBe("0".repeat(64));
});
