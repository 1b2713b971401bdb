// The contract suite of the exec port: every sentence of exec.ts, written once and run by every adapter.
// Each test has a workspace of its own, beside a directory that no adapter may reach.
import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Exec, ExecCode, ProcessResult } from "./exec.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Runs the suite on the exec that `open` makes for a workspace. */
export function execContract(name: string, open: (root: string) => Exec | Promise<Exec>): void {
  describe(`${name} keeps the exec's contract`, () => {
    let top: string;
    let root: string;
    let exec: Exec;

    beforeEach(async () => {
      top = realpathSync(mkdtempSync(join(tmpdir(), "exec-contract-")));
      root = join(top, "work");
      for (const folder of ["work", "work-evil", "other"]) mkdirSync(join(top, folder));
      writeFileSync(join(top, "other", "secret.txt"), "secret");
      writeFileSync(join(top, "work-evil", "secret.txt"), "secret");
      exec = await open(root);
    });

    afterEach(() => {
      rmSync(top, { recursive: true });
    });

    const put = (path: string, text: string): void => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    };
    const held = (path: string): string => readFileSync(join(root, path), "utf8");
    const refused = (code: ExecCode) => expect.objectContaining({ name: "ExecError", code }) as unknown;
    const write = (path: string, text: string, ifDigest?: string | null) =>
      exec.writeFile({ path, bytes: bytesOf(text), ...(ifDigest === undefined ? {} : { ifDigest }) });
    const sh = (script: string, more: Partial<Parameters<Exec["run"]>[0]> = {}): Promise<ProcessResult> =>
      exec.run({ argv: ["sh", "-c", script], ...more });

    describe("paths", () => {
      test("the root is absolute, with its links resolved", async () => {
        symlinkSync(root, join(top, "link"));
        expect((await open(join(top, "link"))).root).toBe(root);
        expect(exec.root).toBe(root);
      });

      test("relative paths start at the root, and what does not exist has a place too", async () => {
        expect(await exec.resolve("a/b.txt")).toBe(join(root, "a/b.txt"));
        expect(await exec.resolve(join(root, "a"))).toBe(join(root, "a"));
        expect(await exec.resolve("a/../b")).toBe(join(root, "b"));
        expect(await exec.resolve(".")).toBe(root);
        expect(await exec.resolve("..dots")).toBe(join(root, "..dots"));
      });

      test("links inside are resolved", async () => {
        mkdirSync(join(root, "real"));
        symlinkSync("real", join(root, "link"));
        symlinkSync("real/later.txt", join(root, "dangling"));
        expect(await exec.resolve("link/a.txt")).toBe(join(root, "real/a.txt"));
        expect(await exec.resolve("dangling")).toBe(join(root, "real/later.txt"));
      });

      test("every way out is refused, by every method, and nothing is touched", async () => {
        symlinkSync(join(top, "other"), join(root, "folder-link"));
        symlinkSync(join(top, "other", "secret.txt"), join(root, "file-link"));
        symlinkSync(join(top, "other", "new.txt"), join(root, "dangling"));
        symlinkSync("dangling", join(root, "dangling-link"));
        symlinkSync("..", join(root, "up"));
        const ways = [
          "..",
          "../other/secret.txt",
          "a/../../other/secret.txt",
          join(top, "other", "secret.txt"),
          join(top, "work-evil", "secret.txt"),
          "../work-evil/secret.txt",
          "/",
          "folder-link",
          "folder-link/secret.txt",
          "folder-link/new/file.txt",
          "file-link",
          "dangling",
          "dangling-link",
          "up/other/secret.txt",
          "a\0b",
        ];
        for (const path of ways) {
          await expect(exec.resolve(path), path).rejects.toEqual(refused("outside"));
          await expect(exec.stat(path), path).rejects.toEqual(refused("outside"));
          await expect(exec.readFile({ path }), path).rejects.toEqual(refused("outside"));
          await expect(write(path, "x"), path).rejects.toEqual(refused("outside"));
          await expect(exec.run({ argv: ["true"], cwd: path }), path).rejects.toEqual(refused("outside"));
        }
        expect(readdirSync(join(top, "other"))).toEqual(["secret.txt"]);
        expect(readFileSync(join(top, "work-evil", "secret.txt"), "utf8")).toBe("secret");
      });

      test("a refusal names the path as it was given", async () => {
        await expect(exec.stat("no/such.txt")).rejects.toThrow(/^no\/such\.txt: /);
        await expect(exec.stat("../other")).rejects.toThrow(/^\.\.\/other: /);
      });
    });

    describe("stat and readFile", () => {
      test("say what is there", async () => {
        put("dir/a.txt", "hello");
        const { mtimeMs } = statSync(join(root, "dir/a.txt"));
        const info = { path: join(root, "dir/a.txt"), kind: "file", size: 5, mtimeMs };
        expect(await exec.stat("dir/a.txt")).toEqual(info);
        const { bytes, ...rest } = await exec.readFile({ path: "dir/a.txt" });
        expect(rest).toEqual({ ...info, digest: digestOf("hello") });
        expect(textOf(bytes)).toBe("hello");
        expect(await exec.stat("dir")).toMatchObject({ kind: "directory", path: join(root, "dir") });
      });

      test("give every byte as it is", async () => {
        const all = Uint8Array.from({ length: 256 }, (_, index) => index);
        writeFileSync(join(root, "all.bin"), all);
        expect(new Uint8Array((await exec.readFile({ path: "all.bin" })).bytes)).toEqual(all);
      });

      test("refuse what is not there, and what is no file", async () => {
        put("a.txt", "hello");
        await expect(exec.stat("none")).rejects.toEqual(refused("not_found"));
        await expect(exec.readFile({ path: "none" })).rejects.toEqual(refused("not_found"));
        await expect(exec.readFile({ path: "." })).rejects.toEqual(refused("is_directory"));
        await expect(exec.readFile({ path: "a.txt/b" })).rejects.toEqual(refused("not_directory"));
      });

      test("a pipe is not waited for", async () => {
        await exec.run({ argv: ["mkfifo", "pipe"] });
        expect(await exec.stat("pipe")).toMatchObject({ kind: "other" });
        await expect(exec.readFile({ path: "pipe" })).rejects.toEqual(refused("permission"));
        await expect(write("pipe", "x")).rejects.toEqual(refused("permission"));
      });

      test("a file over the caller's limit is refused", async () => {
        put("a.txt", "hello");
        expect(await exec.readFile({ path: "a.txt", maxBytes: 5 })).toMatchObject({ size: 5 });
        await expect(exec.readFile({ path: "a.txt", maxBytes: 4 })).rejects.toEqual(refused("too_large"));
      });

      test("an abort ends a read", async () => {
        put("a.txt", "hello");
        await expect(exec.readFile({ path: "a.txt", signal: AbortSignal.abort() })).rejects.toEqual(refused("killed"));
      });
    });

    describe("writeFile", () => {
      test("creates a file with its directories and says what is there after", async () => {
        const written = await write("new/deep/a.txt", "hello");
        expect(held("new/deep/a.txt")).toBe("hello");
        const { bytes: _, ...read } = await exec.readFile({ path: "new/deep/a.txt" });
        expect(written).toEqual(read);
      });

      test("replaces a file, keeps its mode, and leaves nothing beside it", async () => {
        put("run.sh", "old");
        chmodSync(join(root, "run.sh"), 0o751);
        await write("run.sh", "new");
        expect(held("run.sh")).toBe("new");
        expect(statSync(join(root, "run.sh")).mode & 0o7777).toBe(0o751);
        expect(readdirSync(root)).toEqual(["run.sh"]);
      });

      test("who has the old file open goes on reading it whole", async () => {
        put("a.txt", "old and longer");
        const reader = openSync(join(root, "a.txt"), "r");
        await write("a.txt", "new");
        expect(readFileSync(reader, "utf8")).toBe("old and longer");
        closeSync(reader);
      });

      test("a link is written through, and stays a link", async () => {
        put("real/a.txt", "old");
        symlinkSync("real/a.txt", join(root, "link"));
        await write("link", "new");
        expect(held("real/a.txt")).toBe("new");
        expect(readdirSync(root).sort()).toEqual(["link", "real"]);
        expect(realpathSync(join(root, "link"))).toBe(join(root, "real/a.txt"));
      });

      test("ifDigest lets only the expected file be replaced", async () => {
        put("a.txt", "old");
        await expect(write("a.txt", "new", digestOf("other"))).rejects.toEqual(refused("changed"));
        await expect(write("a.txt", "new", null)).rejects.toEqual(refused("changed"));
        await expect(write("gone/a.txt", "new", digestOf("old"))).rejects.toEqual(refused("changed"));
        expect(held("a.txt")).toBe("old");
        expect(readdirSync(root)).toEqual(["a.txt"]);
        await write("a.txt", "new", digestOf("old"));
        await write("b.txt", "new", null);
        expect([held("a.txt"), held("b.txt")]).toEqual(["new", "new"]);
      });

      test("a directory, and a path through a file, are refused and stay as they are", async () => {
        put("a.txt", "hello");
        await expect(write(".", "x")).rejects.toEqual(refused("is_directory"));
        await expect(write("a.txt/b/c", "x")).rejects.toEqual(refused("not_directory"));
        expect(held("a.txt")).toBe("hello");
        expect(readdirSync(root)).toEqual(["a.txt"]);
      });

      test.skipIf(process.getuid?.() === 0)(
        "a file that may not be written stays as it is (root may write all)",
        async () => {
          put("a.txt", "hello");
          chmodSync(join(root, "a.txt"), 0o444);
          await expect(write("a.txt", "x")).rejects.toEqual(refused("permission"));
          expect(held("a.txt")).toBe("hello");
        },
      );
    });

    describe("run", () => {
      test("gives exit code, output and errors; a code other than 0 is a result", async () => {
        const { exitCode, stdout, stderr, truncated } = await sh("echo out; echo err >&2; exit 3");
        expect([exitCode, textOf(stdout), textOf(stderr), truncated]).toEqual([3, "out\n", "err\n", false]);
      });

      test("no shell reads the arguments", async () => {
        const { stdout } = await exec.run({ argv: ["printf", "%s|", "$HOME", "a b", "*", ";echo", ""] });
        expect(textOf(stdout)).toBe("$HOME|a b|*|;echo||");
      });

      test("starts in the workspace, or in a folder of it", async () => {
        mkdirSync(join(root, "sub"));
        expect(textOf((await sh("pwd -P")).stdout)).toBe(`${root}\n`);
        expect(textOf((await sh("pwd -P", { cwd: "sub" })).stdout)).toBe(`${join(root, "sub")}\n`);
      });

      test("input is read to its end; without any there is nothing to wait for", async () => {
        const stdin = new Uint8Array(300_000).fill(65);
        expect((await exec.run({ argv: ["cat"], stdin })).stdout.length).toBe(300_000);
        expect((await exec.run({ argv: ["cat"] })).stdout.length).toBe(0);
        expect((await exec.run({ argv: ["true"], stdin })).exitCode).toBe(0);
      });

      test("the worker's own environment stays with it", async () => {
        process.env["PERDURE_CONTRACT_SECRET"] = "secret";
        try {
          const { stdout } = await exec.run({ argv: ["env"], env: { GIVEN: "yes" } });
          const names = textOf(stdout)
            .matchAll(/^(\w+)=/gm)
            .map(([, key]) => key);
          const expected = new Set(names);
          expect(expected).toContain("GIVEN");
          expect(expected).toContain("PATH");
          expect(expected).not.toContain("PERDURE_CONTRACT_SECRET");
        } finally {
          delete process.env["PERDURE_CONTRACT_SECRET"];
        }
      });

      test("output beyond the limit is dropped and the program runs on", async () => {
        const { stdout, stderr, truncated, exitCode } = await sh(
          "head -c 3000000 /dev/zero; echo err >&2; touch finished",
          { maxOutputBytes: 1000 },
        );
        expect([stdout.length, textOf(stderr), truncated, exitCode]).toEqual([1000, "err\n", true, 0]);
        expect(existsSync(join(root, "finished"))).toBe(true);
        expect(await sh("printf 12345", { maxOutputBytes: 5 })).toMatchObject({ truncated: false });
      });

      test("a program that is not there, or a folder that is not, is not started", async () => {
        await expect(exec.run({ argv: ["no-such-program"] })).rejects.toEqual(refused("not_started"));
        await expect(exec.run({ argv: ["a\0b"] })).rejects.toEqual(refused("not_started"));
        await expect(exec.run({ argv: ["true"], cwd: "none" })).rejects.toEqual(refused("not_started"));
      });

      test("an abort before the start starts nothing", async () => {
        await expect(sh("touch started", { signal: AbortSignal.abort() })).rejects.toEqual(refused("not_started"));
        expect(readdirSync(root)).toEqual([]);
      });

      /** Resolves once the workspace holds a file of that name. */
      const appears = (file: string): Promise<void> =>
        new Promise((resolve) => {
          const watcher = watch(root, () => {
            if (!existsSync(join(root, file))) return;
            watcher.close();
            resolve();
          });
        });
      /** A shell that starts another program, says who that is, and waits for it. */
      const family = "sleep 1000 & echo $! > child.tmp; mv child.tmp child; wait";
      const childLives = (): boolean => {
        try {
          return !/^State:\t[ZX]/m.test(readFileSync(`/proc/${held("child").trim()}/status`, "utf8"));
        } catch {
          return false;
        }
      };
      /** A process that was killed may take a moment to be gone. */
      const childIsGone = async (): Promise<void> => {
        while (childLives()) await setImmediate();
      };
      const abortOnceStarted = async (script: string): Promise<ProcessResult> => {
        const abort = new AbortController();
        const started = appears("child");
        const running = sh(script, { signal: abort.signal });
        await started;
        abort.abort();
        return running;
      };

      test("an abort kills the program and all it started", async () => {
        await expect(abortOnceStarted(family)).rejects.toEqual(refused("killed"));
        await childIsGone();
      });

      test("a program that does not listen is killed all the same", async () => {
        await expect(abortOnceStarted(`trap '' TERM; ${family}`)).rejects.toEqual(refused("killed"));
        await childIsGone();
      });

      test("the time limit kills the program", async () => {
        await expect(sh("sleep 1000", { timeoutMs: 100 })).rejects.toEqual(refused("killed"));
      });

      test("a program that ends leaves nothing running", async () => {
        const { exitCode } = await sh("sleep 1000 & echo $! > child");
        expect(exitCode).toBe(0);
        await childIsGone();
      });
    });
  });
}
