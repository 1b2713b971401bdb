// The contract suite of the model port: every sentence of model.ts, written once and run by every adapter.
import { beforeEach, describe, expect, test } from "vitest";
import { decodeEvent, encodeEvent } from "../core/codec.ts";
import { textOf, type CallPart } from "../core/messages.ts";
import type { ModelRequest } from "../core/request.ts";
import {
  ModelError,
  type Model,
  type ModelContext,
  type ModelErrorClass,
  type ModelPart,
  type ModelReply,
} from "./model.ts";

/** One call of a model, and what it is in a word. */
export interface ModelCase {
  readonly case: string;
  readonly request: ModelRequest;
  readonly context: ModelContext;
}

export interface ModelSubject {
  /** The same model anew, as another process would make it. */
  open(): Model | Promise<Model>;
  /** Calls that end in a reply. */
  readonly replies: readonly ModelCase[];
  /** Calls that fail, and as what. */
  readonly failures?: readonly (ModelCase & { readonly class: ModelErrorClass })[];
  /** A call that says nothing for longer than a test may take. */
  readonly slow?: ModelCase;
}

const frozen = <T>(value: T): T => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) frozen(part);
  }
  return value;
};

/** All parts of one call, in order. */
export const collectParts = async (
  model: Model,
  { request, context }: Pick<ModelCase, "request" | "context">,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelPart[]> => {
  const parts: ModelPart[] = [];
  for await (const part of model.stream(request, { signal, context })) parts.push(part);
  return parts;
};

/** The reply that `parts` end with. */
export const replyOf = (parts: readonly ModelPart[]): ModelReply => {
  const last = parts.at(-1);
  if (last?.type !== "reply") throw new Error("the last part is no reply");
  return last.reply;
};

const joined = (parts: readonly ModelPart[], type: "text" | "reasoning"): string =>
  parts.map((part) => (part.type === type ? part.delta : "")).join("");

const aborted = expect.objectContaining({ name: "ModelError", class: "aborted" }) as unknown;

/** Runs the suite on a model. */
export function modelContract(name: string, subject: ModelSubject): void {
  describe(`${name} keeps the model's contract`, () => {
    let model: Model;

    beforeEach(async () => {
      model = await subject.open();
    });

    test("says its name and its size", () => {
      expect(model.name).not.toBe("");
      expect(model.contextTokens ?? 1).toBeGreaterThan(0);
    });

    describe.for(subject.replies)("$case", (call) => {
      test("ends in the reply, which comes once", async () => {
        const parts = await collectParts(model, call);
        expect(parts.filter(({ type }) => type === "reply")).toHaveLength(1);
        expect(parts.at(-1)).toMatchObject({ type: "reply" });
      });

      test("the deltas join to what the reply says", async () => {
        const parts = await collectParts(model, call);
        const said = replyOf(parts).message.parts;
        expect(joined(parts, "text")).toBe(textOf(said));
        expect(joined(parts, "reasoning")).toBe(
          said.map((part) => (part.type === "reasoning" ? part.text : "")).join(""),
        );
        const calls = new Map<number, { name: string; text: string }>();
        for (const part of parts) {
          if (part.type !== "call") continue;
          const text = (calls.get(part.index)?.text ?? "") + part.delta;
          calls.set(part.index, { name: part.name, text });
        }
        const expected = said.filter((part): part is CallPart => part.type === "call");
        expect([...calls.values()].map((made) => [made.name, JSON.parse(made.text) as unknown])).toEqual(
          expected.map((part) => [part.name, part.input]),
        );
      });

      test("the reply can be stored as it is", async () => {
        const { message, stopReason, tokens } = replyOf(await collectParts(model, call));
        const event = { type: "ModelReplied", message, stopReason, usage: { tokens, durationMs: 0 } } as const;
        expect(decodeEvent("ModelReplied", encodeEvent(event))).toEqual(event);
      });

      test("the same request gives the same parts, again and in another process", async () => {
        const parts = await collectParts(model, call);
        expect(await collectParts(model, call)).toEqual(parts);
        expect(await collectParts(await subject.open(), call)).toEqual(parts);
      });

      test("two calls at once do not touch each other", async () => {
        const parts = await collectParts(model, call);
        expect(await Promise.all([collectParts(model, call), collectParts(model, call)])).toEqual([parts, parts]);
      });

      test("the request stays as it was", async () => {
        const request = structuredClone(call.request);
        await collectParts(model, { ...call, request: frozen(request) });
        expect(request).toEqual(call.request);
      });

      test("an abort before the call leaves it unmade", async () => {
        await expect(collectParts(model, call, AbortSignal.abort())).rejects.toEqual(aborted);
      });

      test("an abort in the middle ends it without a reply", async () => {
        const abort = new AbortController();
        const seen: ModelPart[] = [];
        const streaming = async (): Promise<void> => {
          for await (const part of model.stream(call.request, { signal: abort.signal, context: call.context })) {
            seen.push(part);
            abort.abort();
          }
        };
        await expect(streaming()).rejects.toEqual(aborted);
        expect(seen).toHaveLength(1);
        expect(seen[0]).not.toMatchObject({ type: "reply" });
      });
    });

    const { failures = [], slow } = subject;

    test.for(failures)("$case fails as $class, and as nothing else", async (call) => {
      const failure = await collectParts(model, call).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(ModelError);
      expect(failure).toMatchObject({ class: call.class });
    });

    test.skipIf(slow === undefined)(
      "an abort ends a call that says nothing (a model that waits for nothing has none)",
      async () => {
        if (slow === undefined) return;
        const abort = new AbortController();
        const calling = collectParts(model, slow, abort.signal);
        abort.abort();
        await expect(calling).rejects.toEqual(aborted);
      },
    );
  });
}
