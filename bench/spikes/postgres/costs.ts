// Figures that need no Postgres: what salts, digests and the chain cost per event, and what a seal would.
import { createCipheriv, createDecipheriv, createHmac, randomBytes, randomFillSync } from "node:crypto";
import { encodeEvent } from "../../../src/core/codec.ts";
import { chainOf, digestOf, FIRST_CHAIN } from "../../../src/core/envelope.ts";
import { nodeHasher } from "../../../src/store/node-hasher.ts";
import { cycle } from "./fixture.ts";
import { best } from "./measure.ts";

export interface Cost {
  readonly name: string;
  readonly microseconds: number;
  readonly bytes: number;
}

const pool = Buffer.alloc(16 * 1024);
let used = pool.length;
/** Salts from a pool: one call of the operating system for a thousand of them. */
const pooledSalt = (): Buffer => {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 16;
  return Buffer.from(pool.subarray(used - 16, used));
};

const key = randomBytes(32);
/** A nonce, the cipher text and its tag: 28 bytes more than the content. The task id is bound to it. */
export const seal = (bytes: Uint8Array, taskId: string): Buffer => {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(taskId));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
};

export const open = (sealed: Uint8Array, taskId: string): Buffer => {
  const bytes = Buffer.from(sealed);
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12)).setAAD(Buffer.from(taskId));
  decipher.setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
};

/** Mean cost per event in the best of five rounds, in microseconds of this process's own CPU time. */
const perEvent = (count: number, work: (index: number) => unknown): number => {
  const rounds = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    for (let index = 0; index < count; index += 1) work(index);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / count;
  });
  return best(rounds);
};

export const measureCosts = (): Cost[] => {
  const events = Array.from({ length: 1000 }, (_, index) => cycle(index, 1000)).flat();
  const bodies = events.map(encodeEvent);
  const bytes = bodies.map((body) => Buffer.from(body));
  const sealed = bytes.map((body) => seal(body, "task"));
  const salt = randomBytes(16);
  const digest = randomBytes(32);
  const at = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;
  const cost = (name: string, size: number, work: (index: number) => unknown): Cost => ({
    name,
    microseconds: perEvent(events.length, work),
    bytes: size,
  });
  const mean = bytes.reduce((sum, body) => sum + body.length, 0) / bytes.length;
  return [
    cost("encode (check and stringify)", mean, (index) => encodeEvent(at(events, index))),
    cost("salt, each asked of the system", 16, () => randomBytes(16)),
    cost("salt, from a pool", 16, pooledSalt),
    cost("digest: SHA-256(salt, body)", 32, (index) => digestOf(nodeHasher, salt, at(bodies, index))),
    cost("chain", 32, (index) => chainOf(nodeHasher, FIRST_CHAIN, index, "ModelReplied", digest)),
    cost("HMAC of the same bytes", 32, (index) => createHmac("sha256", key).update(at(bytes, index)).digest()),
    cost("seal: AES-256-GCM", 28, (index) => seal(at(bytes, index), "task")),
    cost("open", 0, (index) => open(at(sealed, index), "task")),
  ];
};
