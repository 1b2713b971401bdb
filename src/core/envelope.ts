// Salted digests and the chain: what makes a log tamper-evident, and the same append recognisable when it comes twice.
import { encodeEvent } from "./codec.ts";
import type { Event, EventType } from "./events.ts";

/** Hashing and randomness are injected: the core has neither. */
export interface Hasher {
  /** SHA-256 of the parts in order; strings as UTF-8. */
  sha256(...parts: readonly (string | Uint8Array)[]): Uint8Array;
}

export const SALT_BYTES = 16;
/** The chain before a task's first event: 32 zero bytes. */
export const FIRST_CHAIN: Uint8Array = new Uint8Array(32);

/** SHA-256(salt, body). Without its salt a redacted event's digest says nothing about what it covered. */
export const digestOf = (hasher: Hasher, salt: Uint8Array, body: string): Uint8Array => hasher.sha256(salt, body);

/** SHA-256(previous chain, seq, type, digest). Without `at`: the store sets it, and a resend must be identical. */
export const chainOf = (
  hasher: Hasher,
  before: Uint8Array,
  seq: number,
  type: string,
  digest: Uint8Array,
): Uint8Array => hasher.sha256(before, `${String(seq)} ${type} `, digest);

/** The digest of the skeleton that stands in place of a redacted event; unsalted, it holds no content. */
export const tombstoneDigest = (hasher: Hasher, type: string, body: string): Uint8Array =>
  hasher.sha256(`tombstone ${type} `, body);

/** The chain over a task's list of redactions; `n` counts from 1. */
export const redactionChain = (
  hasher: Hasher,
  before: Uint8Array,
  entry: { readonly n: number; readonly seq: number; readonly digest: Uint8Array },
): Uint8Array => hasher.sha256(before, `redaction ${String(entry.n)} ${String(entry.seq)} `, entry.digest);

/** An event as it is read back. `type` is the stored word, which a newer version may have written. */
export interface Entry {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly body: string;
}

/** An entry with its envelope. `salt` is null when the event was redacted. */
export interface Envelope extends Entry {
  readonly salt: Uint8Array | null;
  readonly digest: Uint8Array;
  readonly chain: Uint8Array;
}

/** One entry of a task's list of redactions: what the skeleton at `seq` must hash to. `n` counts from 1. */
export interface Redaction {
  readonly n: number;
  readonly seq: number;
  readonly digest: Uint8Array;
  readonly chain: Uint8Array;
}

export interface SealedEvent {
  readonly seq: number;
  readonly type: EventType;
  readonly body: string;
  readonly salt: Uint8Array;
  readonly digest: Uint8Array;
  readonly chain: Uint8Array;
}

export interface EncodedEvent {
  readonly type: EventType;
  /** As `encodeEvent` gives it. */
  readonly body: string;
}

/** Seals encoded events to follow `after`; `salt` gives 16 random bytes each time it is asked. */
export const sealEncoded = (
  hasher: Hasher,
  after: { readonly seq: number; readonly chain: Uint8Array },
  events: readonly EncodedEvent[],
  salt: () => Uint8Array,
): SealedEvent[] => {
  let { seq, chain } = after;
  return events.map(({ type, body }) => {
    seq += 1;
    const sealed = { seq, type, body, salt: salt() };
    const digest = digestOf(hasher, sealed.salt, body);
    chain = chainOf(hasher, chain, seq, type, digest);
    return { ...sealed, digest, chain };
  });
};

/** Encodes and seals events to follow `after`. Throws CodecError for what could not be read back. */
export const sealEvents = (
  hasher: Hasher,
  after: { readonly seq: number; readonly chain: Uint8Array },
  events: readonly Event[],
  salt: () => Uint8Array,
): SealedEvent[] => {
  const encoded = events.map((event) => ({ type: event.type, body: encodeEvent(event) }));
  return sealEncoded(hasher, after, encoded, salt);
};

export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);

const HEX = "0123456789abcdef";

/** Lower-case hex, the form in which heads and hashes are shown. */
export const toHex = (bytes: Uint8Array): string => {
  let hex = "";
  for (const byte of bytes) hex += (HEX[byte >> 4] ?? "") + (HEX[byte & 15] ?? "");
  return hex;
};
