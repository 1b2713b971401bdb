import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  call,
  called,
  core,
  created,
  finished,
  given,
  givenWith,
  recorded,
  replied,
  say,
  taken,
  tool,
  toolsKnown,
  type Step,
} from "../testing/given.ts";
import { pureMac } from "../testing/pure-hasher.ts";
import type { Message } from "./messages.ts";
import {
  buildPrefix,
  buildRequest,
  estimateTokens,
  hashPrefix,
  hashRequest,
  prefixBlocks,
  type ToolDefinition,
} from "./request.ts";
import type { Reducers, TaskState } from "./state.ts";

const definition = (name: string, more: Partial<ToolDefinition> = {}): [string, ToolDefinition] => [
  `definition of ${name}`,
  { name, description: `does ${name}`, inputSchema: { type: "object" }, effect: "read", ...more },
];
const definitions = new Map(["look", "send", "Zap", "web", "ärger"].map((name) => definition(name)));

const prompts = core("prompts", {
  identity: "You are demo.",
  system: "Be brief.",
  parts: [
    { plugin: "a", text: "Part a." },
    { plugin: "b", text: "" },
    { plugin: "c", text: "Part c." },
  ],
});

const stateOf = (...events: readonly Step[]): TaskState => {
  let state: TaskState | undefined;
  given(...events).then((folded) => (state = folded));
  return state as TaskState;
};

const log = [
  created({ settings: { maxOutputTokens: 100, temperature: 0.5, providerOptions: { effort: "low" } } }),
  prompts,
  toolsKnown(tool("look"), tool("send", { effect: "write" })),
  taken(say("hi")),
  called(),
  replied([call("look", { path: "a" }), call("send")]),
  finished("c6_1"),
  finished("c6_0"),
] as const;

describe("the layout", () => {
  test("two system blocks: the identity, then the prompt with the plugins' parts", () => {
    const prefix = buildPrefix(stateOf(...log), definitions);
    expect(prefix.system).toEqual(["You are demo.", "Be brief.\n\nPart a.\n\nPart c."]);
  });

  test("an empty block is left out", () => {
    expect(buildPrefix(stateOf(created()), definitions).system).toEqual([]);
    const identity = core("prompts", { identity: "", system: "S", parts: [] });
    expect(buildPrefix(stateOf(identity), definitions).system).toEqual(["S"]);
  });

  test("the parameters that the settings name, and no others", () => {
    expect(buildPrefix(stateOf(...log), definitions)).toMatchObject({
      model: "m",
      maxOutputTokens: 100,
      temperature: 0.5,
      providerOptions: { effort: "low" },
    });
    expect(Object.keys(buildPrefix(stateOf(created()), definitions))).toEqual(["model", "system", "tools"]);
  });

  test("tools by code unit of their names, server tools last, deferred ones marked", () => {
    const known = toolsKnown(
      tool("web", { server: true }),
      tool("ärger"),
      tool("send", { deferred: true }),
      tool("look", { server: true }),
      tool("Zap"),
    );
    const { tools } = buildPrefix(stateOf(known), definitions);
    expect(tools.map(({ name, deferred, server }) => [name, deferred, server])).toEqual([
      ["Zap", undefined, undefined],
      ["send", true, undefined],
      ["ärger", undefined, undefined],
      ["look", undefined, true],
      ["web", undefined, true],
    ]);
    expect(Object.keys(tools[0] ?? {})).toEqual(["name", "description", "inputSchema"]);
  });

  test("a definition that is missing is an error that names it", () => {
    expect(() => buildPrefix(stateOf(toolsKnown(tool("gone"))), definitions)).toThrow("definition of gone");
  });

  test("the messages of the state, with the breakpoint on the newest", () => {
    const state = stateOf(...log);
    const request = buildRequest(state, buildPrefix(state, definitions));
    expect(request.messages).toEqual(state.messages);
    expect(request.messages).not.toBe(state.messages);
    expect(request.cacheAt).toBe(2);
  });
});

describe("the hash", () => {
  const hash = (state: TaskState, chain?: TaskState["chain"]) =>
    hashRequest(state.messages, hashPrefix(buildPrefix(state, definitions), pureMac), pureMac, chain);

  test("is the same from the start and from where the last request ended", () => {
    const before = stateOf(...log.slice(0, 4));
    const first = hash(before);
    const chained = called({ requestHash: first.hash, prefixHash: first.prefixHash, messages: first.messages });
    const later = stateOf(...log.slice(0, 4), chained, ...log.slice(5), taken(say("more")));
    expect(later.chain).toMatchObject({ hash: first.hash, messages: 1 });
    expect(hash(later, later.chain)).toEqual(hash(later));
    expect(hash(later).hash).not.toBe(first.hash);
    expect(hash(later).messages).toBe(4);
  });

  test("costs only the new messages", () => {
    const texts: string[] = [];
    const counting = (text: string): string => {
      texts.push(text);
      return pureMac(text);
    };
    const state = stateOf(...log);
    const prefixHash = hashPrefix(buildPrefix(state, definitions), pureMac);
    const before = hashRequest(state.messages.slice(0, 2), prefixHash, pureMac);
    hashRequest(state.messages, prefixHash, counting, { ...before, revision: 0 });
    expect(texts).toHaveLength(1);
  });

  test("begins anew where the prefix is another, or the conversation is shorter than the chain", () => {
    const state = stateOf(...log);
    const foreign = { prefixHash: "other", hash: "h", messages: 1, revision: 0 };
    expect(hash(state, foreign)).toEqual(hash(state));
    const { prefixHash } = hash(state);
    expect(hash(state, { prefixHash, hash: "h", messages: 9, revision: 0 })).toEqual(hash(state));
  });

  test("changes with every block, and with nothing else", () => {
    const base = hash(stateOf(...log)).hash;
    const changed = (index: number, event: (typeof log)[number] | ReturnType<typeof taken>): string =>
      hash(stateOf(...log.slice(0, index), event, ...log.slice(index + 1))).hash;
    const others = [
      changed(0, created({ settings: { maxOutputTokens: 101, temperature: 0.5, providerOptions: { effort: "low" } } })),
      changed(1, core("prompts", { identity: "You are other.", system: "Be brief.", parts: [] })),
      changed(2, toolsKnown(tool("look"), tool("send", { deferred: true }))),
      changed(3, taken(say("ho"))),
      changed(5, replied([call("look", { path: "b" }), call("send")])),
      changed(6, finished("c6_1", "other")),
      changed(7, finished("c6_0", "done", { status: "error" })),
    ];
    expect(new Set([base, ...others]).size).toBe(others.length + 1);
    expect(changed(4, called({ attempt: 7, requestHash: "x" }))).toBe(base);
    expect(hash(stateOf(...log, recorded("notes", "kept", { a: 1 }))).hash).toBe(base);
  });

  test("names its prefix's blocks in order", () => {
    expect(prefixBlocks(buildPrefix(stateOf(...log), definitions)).map((block) => block.name)).toEqual([
      "parameters",
      "system 1",
      "system 2",
      "tools",
    ]);
  });

  test("does not tell where a message came from in the log", () => {
    const messages: Message[] = [{ seq: 4, role: "user", content: [{ type: "text", text: "hi" }] }];
    const moved = messages.map((message) => ({ ...message, seq: 9 }));
    expect(hashRequest(moved, "p", pureMac)).toEqual(hashRequest(messages, "p", pureMac));
  });

  test("cannot be the same for one block and for two that join to it", () => {
    const message = (words: string): Message => ({ seq: 1, role: "user", content: [{ type: "text", text: words }] });
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), (a, b) => {
        if (JSON.stringify(a) === JSON.stringify(b)) return;
        expect(hashRequest(a.map(message), "p", pureMac).hash).not.toBe(hashRequest(b.map(message), "p", pureMac).hash);
      }),
    );
  });
});

test("the same log gives the same bytes, in whatever order plugins are loaded", () => {
  const count = { initial: () => 0, reduce: (state: unknown) => (state as number) + 1 };
  const bytes = (reducers: Reducers, ...events: readonly Step[]): string => {
    let text = "";
    givenWith(reducers)(...events, recorded("a", "x"), recorded("b", "x")).then((state) => {
      text = JSON.stringify(buildRequest(state, buildPrefix(state, definitions)));
    });
    return text;
  };
  const first = bytes({ a: count, b: count }, ...log);
  expect(bytes({ b: count, a: count }, ...log)).toBe(first);
  const shuffled = toolsKnown(tool("send", { effect: "write" }), tool("look"));
  expect(bytes({}, ...log.slice(0, 2), shuffled, ...log.slice(3))).toBe(first);
});

describe("the estimate", () => {
  const state = stateOf(...log);
  const prefix = buildPrefix(state, definitions);

  test("covers messages, system and tool schemas", () => {
    const whole = estimateTokens(state.messages, prefix);
    expect(whole).toBeGreaterThan(estimateTokens(state.messages.slice(0, 1), prefix));
    expect(whole).toBeGreaterThan(estimateTokens(state.messages, { ...prefix, tools: [] }));
    expect(whole).toBeGreaterThan(estimateTokens(state.messages, { ...prefix, system: [] }));
  });

  test("covers images and PDFs, said by a person or returned by a tool", () => {
    const file = (mediaType: string, size: number) => ({ type: "file" as const, name: "f", mediaType, size });
    const sizeOf = (message: Message): number => estimateTokens([message], prefix) - estimateTokens([], prefix);
    const said = (mediaType: string, size: number): number =>
      sizeOf({ seq: 1, role: "user", content: [file(mediaType, size)] });
    expect(said("image/png", 10)).toBeGreaterThan(1_600);
    expect(said("image/png", 9_000_000)).toBeLessThan(1_700);
    expect(said("application/pdf", 1_000_000) - said("application/pdf", 0)).toBeGreaterThanOrEqual(50_000);
    expect(said("application/pdf", 1_000_000)).toBeLessThan(50_100);
    expect(said("text/plain", 4_000) - said("text/plain", 0)).toBeGreaterThanOrEqual(1_000);
    expect(said("text/plain", 4_000)).toBeLessThan(1_100);
    const content = [file("image/png", 10)];
    const results = [{ callId: "c1_0", name: "Shot", status: "ok" as const, content }];
    expect(sizeOf({ seq: 1, role: "tool", results })).toBeGreaterThan(1_600);
  });

  test("takes the provider's count for what it covers, and adds only what came since", () => {
    const counted = { tokens: 5_000, from: state.messages.length };
    expect(estimateTokens(state.messages, prefix, counted)).toBe(5_000);
    expect(estimateTokens(state.messages, prefix, { tokens: 5_000, from: 1 })).toBeGreaterThan(5_000);
  });
});
