// What a front end works with. It posts to inboxes and reads logs; it never appends. Every function of this folder that
// takes a Client checks that the task is its principal's, in its place; those that take a store alone are an operator's.
import type { Access } from "../access/access.ts";
import type { Hasher } from "../core/envelope.ts";
import type { Mac } from "../core/request.ts";
import type { Store } from "../store/store.ts";

export interface Client {
  readonly store: Store;
  readonly access: Access;
  /** Where a worker of this process hears of a correction that could not be saved. Absent: none works here. */
  readonly corrections?: { unsaved(taskId: string): void; settled(taskId: string): void };
  readonly hasher: Hasher;
  /** HMAC-SHA-256 under a task's secret. */
  mac(secret: Uint8Array): Mac;
  readonly random: ClientRandom;
  /** Who asks: an authenticated identity, `kind:id`. */
  readonly principal: string;
  /** The front end that asks, and where its tasks live. */
  readonly frontEnd: string;
  readonly place: string;
}

export interface ClientRandom {
  /** A fresh id, `[a-z0-9]+`. */
  id(): string;
  /** 16 random bytes. */
  salt(): Uint8Array;
  /** 32 random bytes. */
  secret(): Uint8Array;
}

/**
 * - `not_found`: the principal has no such task in this place; it may be another's.
 * - `ambiguous`: the beginning of an id fits several tasks.
 * - `refused`: the task's state does not allow what was asked.
 * - `unreadable`: an event of the log cannot be read here.
 */
export type ClientCode = "not_found" | "ambiguous" | "refused" | "unreadable";

/** What a front end asked for cannot be done. The message is for the person who asked. */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code: ClientCode;
  constructor(code: ClientCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
