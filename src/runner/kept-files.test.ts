import { describe, expect, it } from "vitest";
import type { FilePart } from "../core/messages.ts";
import { createMemoryStore } from "../store/memory/store.ts";
import { at, before } from "../testing/fault-plans.ts";
import { TASK, createHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { call } from "../testing/given.ts";
import type { Answer, Asked } from "../testing/scripted-answers.ts";

const fileOf = (name: string): FilePart => ({ type: "file", name, mediaType: "image/png", size: 3 });

/** What one attempt of the model was given, by name. */
type Given = Record<string, string | null>;

/** A task to which two pictures were said; its model asks for both at every call, whatever its request still names. */
const looking = async (more: Partial<HarnessOptions> & { readonly sizes?: Readonly<Record<string, number>> } = {}) => {
  const reads: string[] = [];
  const given: Given[] = [];
  const gone = new Set<string>();
  const ask = async ({ context }: Asked): Promise<void> => {
    const named: Given = {};
    given.push(named);
    for (const name of ["a", "b"]) {
      const bytes = (await context.file?.(name)) ?? null;
      named[name] = bytes === null ? null : new TextDecoder().decode(bytes.subarray(0, 3));
    }
  };
  const answer =
    (said: Exclude<Answer, (asked: Asked) => unknown>): Answer =>
    async (asked) => {
      await ask(asked);
      return said;
    };
  const harness = await createHarness({
    objective: "look",
    tools: [toolOf("look", "read")],
    script: [answer([call("look")]), answer([call("look")]), answer("I looked.")],
    store: (clock) => {
      const store = createMemoryStore({ clock });
      return {
        ...store,
        getFile: async (params) => {
          reads.push(params.name);
          return gone.has(params.name) ? null : store.getFile(params);
        },
      };
    },
    ...more,
  });
  const { store } = harness;
  for (const name of ["a", "b"]) {
    const bytes = new Uint8Array(more.sizes?.[name] ?? 3).fill(name.charCodeAt(0));
    await store.putFile({ taskId: TASK, name, mediaType: "image/png", bytes });
    await harness.post({ type: "Say", text: name, files: [fileOf(name)] });
  }
  return { harness, reads, given, gone, answer };
};

/** Redacts what was said, pictures and all. */
const redact = async ({ store, system }: Harness): Promise<void> => {
  await store.redact({ taskId: TASK, seqs: [4], secret: system.chance.bytes(32) });
};

const both = { a: "aaa", b: "bbb" };

describe("the files of a task's requests", () => {
  it("are read from the store once in a claim, whatever number of calls shows them", async () => {
    const { harness, reads, given } = await looking();
    harness.start();
    await harness.rest();
    expect(given).toEqual([both, both, both]);
    expect(reads).toEqual(["a", "b"]);
  });

  it("are read again by the next claim", async () => {
    const { harness, reads, given } = await looking({ plan: at("model.stream", "crash_before", 2) });
    harness.start();
    await harness.rest();
    expect(given).toEqual([both, both, both]);
    expect(reads).toEqual(["a", "b", "a", "b"]);
  });

  it("are asked for again where one is not there", async () => {
    const { harness, reads, given, gone } = await looking({
      plan: before("store.append", 3, () => {
        gone.delete("a");
      }),
    });
    gone.add("a");
    harness.start();
    await harness.rest();
    expect(given).toEqual([{ a: null, b: "bbb" }, both, both]);
    expect(reads).toEqual(["a", "b", "a"]);
  });

  it("are kept up to a size; a larger one is read at each call", async () => {
    const { harness, reads, given } = await looking({ sizes: { a: 2 ** 25 } });
    harness.start();
    await harness.rest();
    expect(given).toEqual([both, both, both]);
    // The first takes all the room that there is.
    expect(reads).toEqual(["a", "b", "b", "b"]);
  });

  it("are not kept over a redaction: what is gone is given to no later call", async () => {
    const { harness, reads, given, gone } = await looking({
      plan: before("store.append", 3, () => {
        gone.add("a");
        void redact(harness);
      }),
    });
    harness.start();
    await harness.rest();
    expect(given).toEqual([both, ...given.slice(1).map(() => ({ a: null, b: "bbb" }))]);
    expect(reads.slice(0, 4)).toEqual(["a", "b", "a", "b"]);
    expect(JSON.stringify(harness.sent[0]?.request)).toContain('"type":"file"');
    for (const { request } of harness.sent.slice(1)) expect(JSON.stringify(request)).not.toContain('"type":"file"');
  });
});
