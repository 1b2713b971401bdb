import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExecError, type Exec } from "../exec/exec.ts";
import type { Tool, ToolOutput } from "../plugins/plugin.ts";
import { call } from "../testing/given.ts";
import { at } from "../testing/fault-plans.ts";
import { createHarness, runHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { headOf, tailOf } from "./output.ts";

/** A workspace in memory: as much of one as large outputs need. */
const workspace = (): { exec: Exec; files: Map<string, string> } => {
  const files = new Map<string, string>();
  const refuse = (): Promise<never> => Promise.reject(new ExecError("not_found", "no such file"));
  const info = (path: string) => ({ path, kind: "file" as const, size: files.get(path)?.length ?? 0, mtimeMs: 0 });
  const exec: Exec = {
    root: "/work",
    resolve: async (path) => path,
    stat: async (path) => {
      if (!files.has(path)) throw new ExecError("not_found", "no such file");
      return info(path);
    },
    readFile: refuse,
    run: refuse,
    writeFile: async ({ path, bytes }) => {
      files.set(path, new TextDecoder().decode(bytes));
      return { ...info(path), digest: "" };
    },
  };
  return { exec, files };
};

const giving = (output: ToolOutput, more: Partial<Tool> = {}): Tool =>
  toolOf("look", "read", { execute: () => output, ...more });

const looking = (tool: Tool, more: Partial<HarnessOptions> = {}): Promise<Harness> =>
  runHarness({ tools: [tool], script: [[call("look")], "It is done."], ...more });

/** What the model saw of the calls of the first reply. */
const resultsOf = (harness: Harness): string[] => {
  const message = harness.sent[1]?.request.messages.at(-1);
  if (message?.role !== "tool") throw new Error("the model saw no results");
  return message.results.map(({ content }) =>
    content.map((part) => (part.type === "text" ? part.text : part.name)).join(),
  );
};

const fileOf = async (harness: Harness, name: string): Promise<string | null> => {
  const file = await harness.store.getFile({ taskId: "task", name });
  return file === null ? null : new TextDecoder().decode(file.bytes);
};

describe("an output over its limit", () => {
  const long = `${"a".repeat(30_000)}${"z".repeat(30_000)}`;

  it("is kept whole as a task file; the model sees head, tail, size and path", async () => {
    const harness = await looking(giving(long));
    const [shown = ""] = resultsOf(harness);
    expect(shown.length).toBeLessThan(8_200);
    expect(shown).toMatch(/^a{4000}\n…\nz{4000}\n/);
    expect(shown).toContain("[60000 characters; the whole output is in .perdure/outputs/c6_0.txt]");
    expect(await fileOf(harness, "outputs/c6_0.txt")).toBe(long);
  });

  it("is left alone up to 50,000 characters", async () => {
    const harness = await looking(giving(long.slice(0, 50_000)));
    expect(resultsOf(harness)).toEqual([long.slice(0, 50_000)]);
    expect(await harness.store.listFiles({ taskId: "task" })).toEqual([]);
  });

  it("has its tool's own limit, if any", async () => {
    const harness = await looking(giving("x".repeat(3_000), { maxOutputChars: 1_000 }));
    expect(resultsOf(harness)[0]).toMatch(/^x{500}\n…\nx{500}\n\[3000 characters;/);
  });

  it("counts all its parts, and keeps its files", async () => {
    const file = { type: "file", name: "plan.pdf", mediaType: "application/pdf", size: 3 } as const;
    const half = { type: "text", text: "x".repeat(30_000) } as const;
    const harness = await looking(giving({ content: [half, file, half] }));
    expect(await fileOf(harness, "outputs/c6_0.txt")).toBe(`${half.text}\n${half.text}`);
    expect(resultsOf(harness)[0]).toMatch(/in \.perdure\/outputs\/c6_0\.txt],plan\.pdf$/);
  });

  it("is spilled when the tool fails with it, too", async () => {
    const fails = toolOf("look", "read", { execute: () => Promise.reject(new Error("e".repeat(60_000))) });
    const harness = await looking(fails);
    expect(resultsOf(harness)[0]).toContain("[60000 characters;");
  });

  it("leaves 200,000 characters for all results of one reply, however they finish", async () => {
    const calls = Array.from({ length: 8 }, () => call("look"));
    const harness = await looking(giving("x".repeat(45_000)), { script: [calls, "It is done."] });
    const shown = resultsOf(harness).map((result) => result.length);
    expect(shown.reduce((sum, length) => sum + length, 0)).toBeLessThan(203_000);
    expect(shown.slice(0, 4)).toEqual([45_000, 45_000, 45_000, 45_000]);
    expect(await harness.store.listFiles({ taskId: "task" })).toHaveLength(4);
  });

  it("of details is kept as a file that the log names", async () => {
    const rows = "r".repeat(60_000);
    const harness = await looking(giving({ content: "short", details: { rows } }));
    const finished = (await harness.events()).find(({ event }) => event.type === "ToolFinished");
    expect(finished?.event).toMatchObject({ details: { file: "outputs/c6_0.json", size: 60_011 } });
    expect(JSON.parse((await fileOf(harness, "outputs/c6_0.json")) ?? "")).toEqual({ rows });
  });

  it("does not cost the result when the store is busy", async () => {
    const harness = await looking(toolOf("look", "write", { execute: () => long }), {
      plan: at("store.putFile", "fail"),
    });
    expect((await harness.row()).outcome).toBe("completed");
    expect(await fileOf(harness, "outputs/c6_0.txt")).toBe(long);
    expect(harness.claims).toHaveLength(1);
  });
});

describe("an output that was spilled", () => {
  const settings = { workspace: { host: "here", path: "/work" } };

  it("stands in the workspace before the next call", async () => {
    const { exec, files } = workspace();
    await looking(giving("x".repeat(60_000)), { exec, settings });
    expect(files.get(".perdure/outputs/c6_0.txt")).toHaveLength(60_000);
  });

  it("is put where a tool runs later, on another host's disk", async () => {
    const [first, second] = [workspace(), workspace()];
    const seen: (string | undefined)[] = [];
    const read = toolOf("read", "read", {
      execute: () => {
        seen.push(second.files.get(".perdure/outputs/c6_0.txt"));
        return "read";
      },
    });
    const harness = await createHarness({
      tools: [giving("x".repeat(60_000)), read],
      script: [[call("look")], "Look at it?", [call("read")], "It is done."],
      settings,
    });
    const { worker } = harness.start({ ports: { exec: async () => first.exec } });
    await harness.rest();
    void worker.stop();
    harness.start({ ports: { exec: async () => second.exec } });
    await harness.post({ type: "Say", text: "yes" });
    await harness.rest();
    expect(seen).toEqual(["x".repeat(60_000)]);
  });

  it("is no reason to fail when the workspace cannot be written", async () => {
    const { exec } = workspace();
    const readOnly: Exec = { ...exec, writeFile: () => Promise.reject(new ExecError("permission", "read-only")) };
    const harness = await looking(giving("x".repeat(60_000)), { exec: readOnly, settings });
    expect((await harness.row()).outcome).toBe("completed");
  });
});

describe("head and tail", () => {
  const words = fc
    .array(fc.constantFrom("a", "é", "😀", "\u{1F468}", "\ud83d", "\udc68"))
    .map((parts) => parts.join(""));

  it("never split a code point, and never exceed their limit", () => {
    fc.assert(
      fc.property(words, fc.nat({ max: 12 }), (value, limit) => {
        const points = Array.from(value);
        const [head, tail] = [headOf(value, limit), tailOf(value, limit)];
        expect(head.length).toBeLessThanOrEqual(limit);
        expect(tail.length).toBeLessThanOrEqual(limit);
        const heads = points.map((_, index) => points.slice(0, index).join(""));
        expect([...heads, value]).toContain(head);
        const tails = points.map((_, index) => points.slice(index).join(""));
        expect([...tails, ""]).toContain(tail);
      }),
    );
  });

  it("take as much as fits", () => {
    expect(headOf("ab😀c", 3)).toBe("ab");
    expect(headOf("ab😀c", 4)).toBe("ab😀");
    expect(tailOf("a😀bc", 3)).toBe("bc");
    expect(tailOf("a😀bc", 4)).toBe("😀bc");
  });
});
