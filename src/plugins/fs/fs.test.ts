import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ExecError, type Exec } from "../../exec/exec.ts";
import { createLocalExec } from "../../exec/local/local.ts";
import { definitionOf } from "../definition.ts";
import { pluginContract } from "../plugin.contract.ts";
import { NothingHappened, type NewRecord, type Tool, type ToolContext, type ToolOutput } from "../plugin.ts";
import { compileSchema } from "../schema.ts";
import { sourceHash } from "../source-hash.ts";
import { fs } from "./fs.ts";
import { KEPT_PATHS } from "./seen.ts";

const seen = (path: string, digest = "d1") => ({ path, digest, size: 5, mtimeMs: 1_700_000_000_000.5 });

pluginContract("fs", {
  create: fs,
  records: [
    { kind: "read", v: 1, data: seen("a.txt") },
    { kind: "read", v: 1, data: seen("__proto__") },
    { kind: "write", v: 1, data: seen("a.txt", "d2") },
  ],
});

const plugin = fs();
const reducer = plugin.reducer ?? expect.fail("fs has a reducer");
const toolNamed = (name: string): Tool =>
  plugin.tools?.find((tool) => tool.name === name) ?? expect.fail(`there is no tool ${name}`);

let root: string;
let exec: Exec;
let state: unknown;
let secret: string;
let records: NewRecord[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "fs-plugin-"));
  exec = createLocalExec({ root });
  state = reducer.initial();
  secret = "one";
  records = [];
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

const put = (path: string, content: string | Uint8Array): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
};
const held = (path: string): string => readFileSync(join(root, path), "utf8");

const contextWith = (more: Partial<ToolContext> = {}): ToolContext => ({
  taskId: "t",
  callId: "c6_0",
  invocationId: "i1",
  attempt: 1,
  fence: 1,
  signal: new AbortController().signal,
  exec,
  mac: (text) => createHmac("sha256", secret).update(text).digest("hex"),
  state,
  record: (record) => {
    records.push(record);
  },
  ...more,
});

/** Folds what was recorded, as the append of a result does. */
const commit = (): void => {
  for (const { kind, data } of records) {
    const plain: unknown = JSON.parse(JSON.stringify(data));
    state = reducer.reduce(state, { extension: "fs", kind, v: 1, data: plain, seq: 1, redacted: false });
  }
  records = [];
};

const execute = async (
  name: string,
  input: Record<string, unknown>,
  more?: Partial<ToolContext>,
): Promise<ToolOutput> => {
  const tool = toolNamed(name);
  expect(await compileSchema(tool.inputSchema).validate(input)).toEqual({ ok: true, value: input });
  return tool.execute(input as never, contextWith(more));
};

const textOf = (output: ToolOutput): string => {
  const content = typeof output === "string" ? output : "content" in output && output.content;
  return typeof content === "string" ? content : expect.fail("these tools answer in text");
};

/** A call that takes effect and whose result is stored. */
const call = async (name: string, input: Record<string, unknown>): Promise<string> => {
  const output = await execute(name, input);
  commit();
  return textOf(output);
};

/** A call that takes effect and whose result is lost with the process. */
const callAndCrash = async (name: string, input: Record<string, unknown>): Promise<void> => {
  await execute(name, input);
  records = [];
};

const refusal = async (name: string, input: Record<string, unknown>, more?: Partial<ToolContext>): Promise<string> => {
  const error = await execute(name, input, more).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NothingHappened);
  expect(records).toEqual([]);
  return (error as Error).message;
};

const verify = async (name: string, input: unknown): Promise<string> => {
  const tool = toolNamed(name);
  const receipt = { callId: "c6_0", invocationId: "i1", input, attempt: 1, startedAt: 1 };
  const verdict = (await tool.verify?.(receipt, contextWith())) ?? expect.fail(`${name} cannot verify itself`);
  if (verdict === "done") commit();
  else expect(records).toEqual([]);
  return verdict;
};

describe("Read", () => {
  const read = (file_path: string, more: Record<string, unknown> = {}) => call("Read", { file_path, ...more });

  test("gives each line with its number", async () => {
    put("a.txt", "hello world\n");
    put("b.txt", "one\n\nthree");
    expect(await read("a.txt")).toBe("1\thello world");
    expect(await read("b.txt")).toBe("1\tone\n2\t\n3\tthree");
    expect(await read(join(root, "b.txt"))).toBe("1\tone\n2\t\n3\tthree");
  });

  test("records what was read, by a hash that says nothing without the task's secret", async () => {
    put("dir/a.txt", "hello world\n");
    await execute("Read", { file_path: "dir/../dir/a.txt" });
    const { digest } = await exec.readFile({ path: "dir/a.txt" });
    const { mtimeMs } = statSync(join(root, "dir/a.txt"));
    expect(records).toEqual([
      { kind: "read", data: { path: "dir/a.txt", digest: contextWith().mac(digest), size: 12, mtimeMs } },
    ]);
  });

  test("gives a part of a large file, and says how to go on", async () => {
    put("a.txt", Array.from({ length: 4_500 }, (_, index) => `line ${String(index + 1)}`).join("\n"));
    const first = (await read("a.txt")).split("\n");
    expect(first).toHaveLength(2_001);
    expect(first.at(-1)).toBe("(lines 1 to 2000 of 4500; go on with offset 2001)");
    expect(await read("a.txt", { offset: 4_499 })).toBe("4499\tline 4499\n4500\tline 4500");
    expect(await read("a.txt", { offset: 7, limit: 1 })).toBe("7\tline 7\n(lines 7 to 7 of 4500; go on with offset 8)");
    expect(await refusal("Read", { file_path: "a.txt", offset: 4_501 })).toBe(
      "a.txt has 4500 lines; there is no line 4501.",
    );
  });

  test("cuts a long line between characters, and says so", async () => {
    put("a.txt", `${"x".repeat(1_999)}\u{1F600}y`);
    const line = await read("a.txt");
    expect(line).toBe(`1\t${"x".repeat(1_999)}… (cut: 2002 characters)`);
    expect(line.isWellFormed()).toBe(true);
  });

  test("shows neither CR nor a byte order mark, and an empty file as empty", async () => {
    put("a.txt", "\uFEFFone\r\ntwo\r\n");
    put("empty.txt", "");
    expect(await read("a.txt")).toBe("1\tone\n2\ttwo");
    expect(await read("empty.txt")).toBe("(the file is empty)");
  });

  test("refuses in one sentence what is no text", async () => {
    put("photo.PNG", Uint8Array.of(0x89, 0x50));
    put("paper.pdf", "%PDF-1.7");
    put("a.bin", Uint8Array.of(65, 0, 66));
    put("latin.txt", Uint8Array.of(0x63, 0x61, 0x66, 0xe9));
    expect(await refusal("Read", { file_path: "photo.PNG" })).toBe(
      "photo.PNG is not text (PNG); it cannot be read here.",
    );
    expect(await refusal("Read", { file_path: "paper.pdf" })).toBe(
      "paper.pdf is not text (pdf); it cannot be read here.",
    );
    expect(await refusal("Read", { file_path: "a.bin" })).toBe("a.bin is not text: it is binary, or not UTF-8.");
    expect(await refusal("Read", { file_path: "latin.txt" })).toBe(
      "latin.txt is not text: it is binary, or not UTF-8.",
    );
  });

  test("refuses what is not there, a directory, and what is outside", async () => {
    mkdirSync(join(root, "src"));
    expect(await refusal("Read", { file_path: "none.txt" })).toBe("none.txt: no such file or directory");
    expect(await refusal("Read", { file_path: "src" })).toBe("src is a directory. Use Glob to list its files.");
    expect(await refusal("Read", { file_path: "../../etc/passwd" })).toBe("../../etc/passwd: outside the workspace");
  });

  test("refuses a file that is too large to look at whole", async () => {
    const large: Exec = {
      ...exec,
      readFile: ({ path }) => Promise.reject(new ExecError("too_large", `${path}: is larger than that`)),
    };
    put("a.log", "x");
    expect(await refusal("Read", { file_path: "a.log" }, { exec: large })).toMatch(
      /^a\.log is over 33554432 bytes\. Use Grep/,
    );
  });
});

describe("Write", () => {
  test("creates a file with its folders, and records what it holds", async () => {
    expect(await call("Write", { file_path: "new/a.txt", content: "one\n" })).toBe("Created new/a.txt (4 bytes).");
    expect(held("new/a.txt")).toBe("one\n");
    expect(await call("Write", { file_path: "new/a.txt", content: "two\n" })).toBe("Replaced new/a.txt (4 bytes).");
    expect(held("new/a.txt")).toBe("two\n");
  });

  test("names the file that it changed", async () => {
    expect(await execute("Write", { file_path: join(root, "a.txt"), content: "" })).toMatchObject({
      resources: ["a.txt"],
    });
  });

  test("refuses to overwrite what the task has not read, and says what to do", async () => {
    put("a.txt", "precious");
    const input = { file_path: "a.txt", content: "new" };
    expect(await refusal("Write", input)).toBe(
      "a.txt exists and this task has not read it. Read it first, then try again.",
    );
    await call("Read", { file_path: "a.txt" });
    await call("Write", input);
    expect(held("a.txt")).toBe("new");
  });

  test("refuses to overwrite what has changed since it was read", async () => {
    put("a.txt", "old");
    await call("Read", { file_path: "a.txt" });
    put("a.txt", "changed by another");
    expect(await refusal("Write", { file_path: "a.txt", content: "new" })).toBe(
      "a.txt has changed since this task last saw it. Read it again, then try again.",
    );
    expect(held("a.txt")).toBe("changed by another");
  });

  test("says why when a redaction made what was read incomparable", async () => {
    put("a.txt", "old");
    await call("Read", { file_path: "a.txt" });
    secret = "two";
    expect(await refusal("Write", { file_path: "a.txt", content: "new" })).toBe(
      "a.txt was read before this task's content was redacted, so it cannot be compared any more. Read it again, then try again.",
    );
  });

  test("refuses a file that changes between the look and the write", async () => {
    put("a.txt", "old");
    await call("Read", { file_path: "a.txt" });
    const racing: Exec = {
      ...exec,
      writeFile: (params) => {
        put("a.txt", "changed by another");
        return exec.writeFile(params);
      },
    };
    expect(await refusal("Write", { file_path: "a.txt", content: "new" }, { exec: racing })).toBe("a.txt: has changed");
    expect(held("a.txt")).toBe("changed by another");
  });

  test("what exec refuses for certain is a refusal; what it cannot say for certain is not", async () => {
    mkdirSync(join(root, "src"));
    expect(await refusal("Write", { file_path: "src", content: "" })).toBe("src: is a directory");
    expect(await refusal("Write", { file_path: "../a.txt", content: "" })).toBe("../a.txt: outside the workspace");
    const failing = (code: "no_space" | "failed"): Exec => ({
      ...exec,
      writeFile: ({ path }) => Promise.reject(new ExecError(code, `${path}: ${code}`)),
    });
    const input = { file_path: "a.txt", content: "" };
    expect(await refusal("Write", input, { exec: failing("no_space") })).toBe("a.txt: no_space");
    await expect(execute("Write", input, { exec: failing("failed") })).rejects.toBeInstanceOf(ExecError);
  });

  test("an abort before the write leaves the file alone, for certain", async () => {
    put("a.txt", "old");
    await call("Read", { file_path: "a.txt" });
    const abort = new AbortController();
    const stopping: Exec = {
      ...exec,
      readFile: async (params) => {
        const file = await exec.readFile(params);
        abort.abort();
        return file;
      },
    };
    const more = { exec: stopping, signal: abort.signal };
    expect(await refusal("Write", { file_path: "a.txt", content: "new" }, more)).toBe(
      "a.txt: stopped before anything was written",
    );
    expect(held("a.txt")).toBe("old");
  });
});

describe("a Write whose result was lost", () => {
  const input = { file_path: "a.txt", content: "new" };

  test("is done when the file holds the content, and the file then counts as seen", async () => {
    await callAndCrash("Write", input);
    expect(await verify("Write", input)).toBe("done");
    await call("Write", { file_path: "a.txt", content: "newer" });
    expect(held("a.txt")).toBe("newer");
  });

  test("is absent when there is no file, as before", async () => {
    expect(await verify("Write", input)).toBe("absent");
  });

  test("is absent when the file still holds what was read", async () => {
    put("a.txt", "old");
    await call("Read", { file_path: "a.txt" });
    expect(await verify("Write", input)).toBe("absent");
  });

  test("is done over what was read, and over what already held the same", async () => {
    put("a.txt", "old");
    await call("Read", { file_path: "a.txt" });
    await callAndCrash("Write", input);
    expect(await verify("Write", input)).toBe("done");
    await callAndCrash("Write", input);
    expect(await verify("Write", input)).toBe("done");
  });

  test("is unknown when the file is neither as before nor as wanted", async () => {
    put("a.txt", "by another");
    expect(await verify("Write", input)).toBe("unknown");
    await call("Read", { file_path: "a.txt" });
    put("a.txt", "changed again");
    expect(await verify("Write", input)).toBe("unknown");
    rmSync(join(root, "a.txt"));
    expect(await verify("Write", input)).toBe("unknown");
  });

  test("is unknown when its input was redacted", async () => {
    expect(await verify("Write", null)).toBe("unknown");
  });
});

describe("Edit", () => {
  const edit = (old_string: string, new_string: string, more: Record<string, unknown> = {}) => ({
    file_path: "a.txt",
    old_string,
    new_string,
    ...more,
  });
  const begin = async (content: string): Promise<void> => {
    put("a.txt", content);
    await call("Read", { file_path: "a.txt" });
  };

  test("replaces the one place, and knows the file from then on", async () => {
    await begin("one two three\n");
    expect(await call("Edit", edit("two", "2"))).toBe("Edited a.txt (1 place).");
    expect(held("a.txt")).toBe("one 2 three\n");
    await call("Edit", edit("one", "1"));
    expect(held("a.txt")).toBe("1 2 three\n");
  });

  test("takes its texts as they are, not as patterns", async () => {
    await begin("a.c abc $1\n");
    await call("Edit", edit("a.c", "$& $1 $$"));
    expect(held("a.txt")).toBe("$& $1 $$ abc $1\n");
  });

  test("refuses several places, unless it is to replace all", async () => {
    await begin("x y x\n");
    expect(await refusal("Edit", edit("x", "z"))).toBe(
      "old_string occurs 2 times in a.txt. Give more of the text around it, or set replace_all.",
    );
    expect(await call("Edit", edit("x", "z", { replace_all: true }))).toBe("Edited a.txt (2 places).");
    expect(held("a.txt")).toBe("z y z\n");
  });

  test("refuses what is not there, what changes nothing, and a file that does not exist", async () => {
    await begin("x\n");
    expect(await refusal("Edit", edit("q", "z"))).toBe(
      "old_string does not occur in a.txt. Read it and copy the text exactly.",
    );
    expect(await refusal("Edit", edit("x", "x"))).toBe("old_string and new_string are the same.");
    expect(await refusal("Edit", { ...edit("x", "y"), file_path: "b.txt" })).toBe(
      "b.txt does not exist. Use Write to create it.",
    );
  });

  test("refuses a file that was not read, or has changed since", async () => {
    put("a.txt", "x\n");
    expect(await refusal("Edit", edit("x", "y"))).toMatch(/^a\.txt exists and this task has not read it\./);
    await call("Read", { file_path: "a.txt" });
    put("a.txt", "x!\n");
    expect(await refusal("Edit", edit("x", "y"))).toMatch(/^a\.txt has changed since this task last saw it\./);
  });

  test("keeps CRLF line breaks and the byte order mark", async () => {
    await begin("\uFEFFone\r\ntwo\r\n");
    await call("Edit", edit("one\ntwo", "1\n2\n3"));
    expect(held("a.txt")).toBe("\uFEFF1\r\n2\r\n3\r\n");
  });

  test("keeps the file's mode", async () => {
    await begin("x\n");
    chmodSync(join(root, "a.txt"), 0o755);
    await call("Edit", edit("x", "y"));
    expect(statSync(join(root, "a.txt")).mode & 0o777).toBe(0o755);
  });

  describe("whose result was lost", () => {
    const settled = async (content: string, input: Record<string, unknown>): Promise<void> => {
      await begin(content);
      expect(await verify("Edit", input)).toBe("absent");
      await callAndCrash("Edit", input);
      const after = held("a.txt");
      expect(await verify("Edit", input)).toBe("done");
      expect(held("a.txt")).toBe(after);
      await call("Edit", edit(after, "seen"));
    };

    test("is done or absent by the content, and done counts as seen", () =>
      settled("one two three\n", edit("two", "2")));
    test("is told where the new text stood elsewhere before", () => settled("2 two 2\n", edit("two", "2")));
    test("is told where the places overlap", () => settled("aXa\n", edit("X", "aa")));
    test("is told where all places were replaced", () => settled("x y x\n", edit("x", "z", { replace_all: true })));
    test("is told where replace_all met one place and the new text stood elsewhere", () =>
      settled("z x\n", edit("x", "z", { replace_all: true })));
    test("is told where text was taken out", () => settled("keep\ndrop\nkeep\n", edit("drop\n", "")));
    test("is told where text was taken out of a line", () => settled("keep drop keep\n", edit(" drop", "")));
    test("is told where the lines end in CRLF", () => settled("one\r\ntwo\r\nthree\r\n", edit("one\ntwo", "1\n2")));
    test("is told in a file of 2,000 lines", () => {
      const lines = Array.from({ length: 2_000 }, (_, index) => `a line with the number ${String(index)}\n`);
      return settled(lines.join(""), edit("a line with the number 1500\n", ""));
    });

    test("is unknown when the file is neither", async () => {
      await begin("one two\n");
      put("a.txt", "one three 2\n");
      expect(await verify("Edit", edit("two", "2"))).toBe("unknown");
      rmSync(join(root, "a.txt"));
      expect(await verify("Edit", edit("two", "2"))).toBe("unknown");
    });

    test("is unknown when nothing is known of the file before, or its input was redacted", async () => {
      put("a.txt", "one 2\n");
      expect(await verify("Edit", edit("two", "2"))).toBe("unknown");
      await call("Read", { file_path: "a.txt" });
      expect(await verify("Edit", null)).toBe("unknown");
    });
  });
});

describe("what was seen", () => {
  test("is kept for the newest paths only, however old the task is", () => {
    for (let index = 0; index < KEPT_PATHS * 3; index += 1)
      records.push({ kind: "read", data: seen(`f${String(index)}`) });
    records.push({ kind: "read", data: seen(`f${String(KEPT_PATHS * 2)}`, "again") });
    commit();
    const { files } = state as { files: readonly { path: string; digest: string }[] };
    expect(files).toHaveLength(KEPT_PATHS);
    expect(files.at(-1)).toMatchObject({ path: `f${String(KEPT_PATHS * 2)}`, digest: "again" });
    expect(new Set(files.map(({ path }) => path)).size).toBe(KEPT_PATHS);
  });

  test("is forgotten of a file whose record lost its content", () => {
    const gone = { extension: "fs", kind: "read", v: 1, data: {}, seq: 1, redacted: true };
    expect(reducer.reduce(state, gone)).toEqual(reducer.initial());
  });

  test("a file of the same content that was only touched still counts as read", async () => {
    put("a.txt", "old");
    await call("Read", { file_path: "a.txt" });
    utimesSync(join(root, "a.txt"), 1, 1);
    await call("Write", { file_path: "a.txt", content: "new" });
    expect(held("a.txt")).toBe("new");
  });
});

describe("Glob", () => {
  const glob = (pattern: string, path?: string) => call("Glob", { pattern, ...(path === undefined ? {} : { path }) });

  beforeEach(() => {
    for (const path of ["b.ts", "a.ts", "src/c.ts", "src/deep/d.ts", "src/e.js", ".github/f.yml", "a b.md"])
      put(path, "x");
    put(".gitignore", "built\n");
    put("built/g.ts", "x");
    put(".git/description", "x");
    put(".perdure/tasks.db", "x");
    put(".perdure-0123456789abcdef", "x");
  });

  test("lists files that match, in the order of their paths", async () => {
    expect(await glob("**/*.ts")).toBe("a.ts\nb.ts\nsrc/c.ts\nsrc/deep/d.ts");
    expect(await glob("src/*")).toBe("src/c.ts\nsrc/e.js");
    expect(await glob("./src/**/*.{ts,js}")).toBe("src/c.ts\nsrc/deep/d.ts\nsrc/e.js");
    expect(await glob("a b.*")).toBe("a b.md");
  });

  test("matches a pattern without a slash in every folder", async () => {
    expect(await glob("*.ts")).toBe("a.ts\nb.ts\nsrc/c.ts\nsrc/deep/d.ts");
  });

  test("looks in a folder, whose files a pattern is then relative to", async () => {
    expect(await glob("*.ts", "src")).toBe("src/c.ts\nsrc/deep/d.ts");
    expect(await glob("deep/*", "src")).toBe("src/deep/d.ts");
    expect(await glob("*", join(root, "src/deep"))).toBe("src/deep/d.ts");
  });

  test("leaves out what .gitignore names, what is hidden unless asked for, and what is not the task's", async () => {
    rmSync(join(root, ".git"), { recursive: true });
    expect(await glob("built/*")).toBe("No files found.");
    put(".git/description", "x");
    expect(await glob("**/*")).toBe("a b.md\na.ts\nb.ts\nsrc/c.ts\nsrc/deep/d.ts\nsrc/e.js");
    expect(await glob(".github/**")).toBe(".github/f.yml");
    expect(await glob(".git/**")).toBe("No files found.");
    expect(await glob(".perdure*/**")).toBe("No files found.");
    expect(await glob(".perdure*")).toBe("No files found.");
  });

  test("says when there are none, when there are more, and when there is no such folder", async () => {
    expect(await glob("*.zig")).toBe("No files found.");
    for (let index = 0; index < 1_003; index += 1) put(`many/${String(index)}.c`, "");
    const lines = (await glob("*.c")).split("\n");
    expect([lines.length, lines.at(-1)]).toEqual([1_001, "(3 more lines)"]);
    expect(await refusal("Glob", { pattern: "*", path: "none" })).toBe("none: no such file or directory");
    expect(await refusal("Glob", { pattern: "*", path: ".." })).toBe("..: outside the workspace");
  });
});

describe("Grep", () => {
  const grep = (pattern: string, more: Record<string, unknown> = {}) => call("Grep", { pattern, ...more });
  const content = { output_mode: "content" };

  beforeEach(() => {
    put("a.txt", "first\nHello there\nlast\n");
    put("src/b.ts", "hello\nfirst\nhello hello\n");
    put(".hidden", "hello\n");
    put(".git/c", "hello\n");
  });

  test("names the files, by default", async () => {
    expect(await grep("hello")).toBe(".hidden\nsrc/b.ts");
    expect(await grep("nothing of the kind")).toBe("No matches found.");
  });

  test("shows lines with file and number", async () => {
    expect(await grep("first", content)).toBe("a.txt:1:first\nsrc/b.ts:2:first");
    expect(await grep("first", { ...content, "-n": false })).toBe("a.txt:first\nsrc/b.ts:first");
    expect(await grep("first", { ...content, path: "a.txt" })).toBe("a.txt:1:first");
  });

  test("shows lines around", async () => {
    const around = (more: Record<string, unknown>) => grep("Hello", { ...content, path: "a.txt", ...more });
    expect(await around({ "-A": 1 })).toBe("a.txt:2:Hello there\na.txt-3-last");
    expect(await around({ "-B": 1 })).toBe("a.txt-1-first\na.txt:2:Hello there");
    expect(await around({ "-C": 1 })).toBe("a.txt-1-first\na.txt:2:Hello there\na.txt-3-last");
  });

  test("counts lines in each file", async () => {
    expect(await grep("hello", { output_mode: "count", "-i": true })).toBe(".hidden:1\na.txt:1\nsrc/b.ts:2");
  });

  test("is narrowed by case, folder, glob and number", async () => {
    expect(await grep("hello", { "-i": true })).toBe(".hidden\na.txt\nsrc/b.ts");
    expect(await grep("hello", { path: "src" })).toBe("src/b.ts");
    expect(await grep("hello", { glob: "*.ts" })).toBe("src/b.ts");
    expect(await grep("hello", { head_limit: 1 })).toBe(".hidden\n(1 more line)");
  });

  test("spans lines when it is told to", async () => {
    expect(await grep("first.Hello", { ...content, path: "a.txt" })).toBe("No matches found.");
    expect(await grep("first.Hello", { ...content, path: "a.txt", multiline: true })).toBe(
      "a.txt:1:first\na.txt:2:Hello there",
    );
  });

  test("takes a pattern that looks like an option, and never looks into .git", async () => {
    put("d.txt", "--files\n");
    expect(await grep("--files", { path: "d.txt" })).toBe("d.txt");
    expect(await grep("hello", { glob: "**" })).toBe(".hidden\nsrc/b.ts");
  });

  test("says what is wrong with a pattern, and what is outside", async () => {
    expect(await refusal("Grep", { pattern: "(" })).toMatch(/regex parse error[^]*unclosed group/);
    expect(await refusal("Grep", { pattern: "x", path: ".." })).toBe("..: outside the workspace");
  });

  test("cuts long lines", async () => {
    put("long.txt", `needle${"x".repeat(5_000)}\n`);
    expect((await grep("needle", { ...content, path: "long.txt" })).length).toBeLessThan(2_200);
  });
});

test("case-34: the definitions are the same in another process, locale and time zone", () => {
  const module = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  const script = `
    const { fs } = await import(${module("./fs.ts")});
    const { definitionOf } = await import(${module("../definition.ts")});
    console.log(JSON.stringify(fs().tools.map((tool) => definitionOf(tool))));`;
  const env = { ...process.env, LANG: "tr_TR.UTF-8", LC_ALL: "tr_TR.UTF-8", TZ: "Pacific/Chatham" };
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", script], { env, encoding: "utf8" });
  expect(JSON.parse(printed)).toEqual((plugin.tools ?? []).map((tool) => definitionOf(tool)));
});

test("the sources can be known", async () => {
  expect(await sourceHash(plugin.module ?? "")).toMatch(/^[0-9a-f]{64}$/);
});

test("nothing of a write is left beside the file", async () => {
  await call("Write", { file_path: "new/a.txt", content: "x" });
  await call("Write", { file_path: "new/a.txt", content: "y" });
  expect(existsSync(join(root, "new"))).toBe(true);
  expect((await exec.run({ argv: ["ls", "-A", "new"] })).stdout.toString()).toBe("a.txt\n");
});
