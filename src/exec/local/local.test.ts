import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { execContract } from "../exec.contract.ts";
import { createLocalExec } from "./local.ts";
import { refusalOf } from "./refusal.ts";

execContract("local", (root) => createLocalExec({ root }));

const folder = mkdtempSync(join(tmpdir(), "local-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

test("a root that is not there, or is no directory, is refused at once", () => {
  writeFileSync(join(folder, "file"), "");
  const open = (root: string) => () => createLocalExec({ root: join(folder, root) });
  expect(open("none")).toThrow(expect.objectContaining({ code: "not_found" }));
  expect(open("file")).toThrow(expect.objectContaining({ code: "not_directory" }));
});

test("a program that another ends has the exit code a shell would give it", async () => {
  const exec = createLocalExec({ root: folder });
  expect(await exec.run({ argv: ["sh", "-c", "kill -9 $$"] })).toMatchObject({ exitCode: 137 });
});

test("a process that left the group does not hold up the result", async () => {
  const exec = createLocalExec({ root: folder });
  const { exitCode, stdout } = await exec.run({ argv: ["sh", "-c", "setsid sleep 60 & echo $!"] });
  expect(exitCode).toBe(0);
  process.kill(Number(new TextDecoder().decode(stdout)), "SIGKILL");
});

test("what a disk says has a code, and anything else is a failure", () => {
  const said = (code: string) => refusalOf(Object.assign(new Error("as Node says it"), { code }), "a.txt");
  expect(said("ENOSPC")).toMatchObject({ code: "no_space", message: "a.txt: no space is left" });
  expect(said("EROFS")).toMatchObject({ code: "permission", message: "a.txt: the file system is read-only" });
  expect(said("EIO")).toMatchObject({ code: "failed", message: "a.txt: as Node says it" });
});
