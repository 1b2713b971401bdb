// What stands for a storage root, and that one process may hold it several times. Other processes: test/instance-lock.test.ts.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { InstanceHeld, addressOf, canonicalRoot, lockInstance } from "./instance-lock.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "perdure-lock-")));
afterAll(() => rmSync(folder, { recursive: true }));

test("a root is the file that a path leads to, whether it is there yet or not", async () => {
  mkdirSync(join(folder, "real"));
  symlinkSync(join(folder, "real"), join(folder, "linked"));
  const there = join(folder, "real", "tasks.db");
  expect(await canonicalRoot(join(folder, "linked", "tasks.db"))).toBe(there);
  expect(await canonicalRoot(join(folder, "linked", "deep", "tasks.db"))).toBe(
    join(folder, "real", "deep", "tasks.db"),
  );
  writeFileSync(there, "");
  symlinkSync(there, join(folder, "other.db"));
  expect(await canonicalRoot(join(folder, "other.db"))).toBe(there);
  expect(await canonicalRoot(join(folder, "real", "..", "real", "tasks.db"))).toBe(there);
});

test("each system has something that it takes back by itself", () => {
  expect(addressOf("/a", "linux").path).toMatch(/^\0perdure-[0-9a-f]{40}$/);
  expect(addressOf("/a", "win32").path).toMatch(/^\\\\\.\\pipe\\perdure-[0-9a-f]{40}$/);
  const ports = ["/a", "/b", "/c", "/a"].map((root) => addressOf(root, "darwin").port ?? 0);
  expect(ports[0]).toBe(ports[3]);
  expect(new Set(ports).size).toBe(3);
  for (const port of ports) expect(port >= 10_240 && port < 32_768).toBe(true);
});

test.each(["linux", "darwin"] as const)(
  "one process may hold a root several times; it is free after the last (%s)",
  async (platform) => {
    const root = join(folder, `twice-${platform}`);
    const [first, second] = [await lockInstance(root, platform), await lockInstance(root, platform)];
    await first.release();
    await first.release();
    const taken = () =>
      new Promise<string>((resolve) => {
        const server = createServer();
        server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? ""));
        server.listen(addressOf(root, platform), () => server.close(() => resolve("free")));
      });
    expect(await taken()).toBe("EADDRINUSE");
    await second.release();
    expect(await taken()).toBe("free");
  },
);

test("a port that something else has is refused, with what that may be", async () => {
  const root = join(folder, "collides");
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(addressOf(root, "darwin"), resolve));
  const { port } = other.address() as AddressInfo;
  const refused = lockInstance(root, "darwin");
  await expect(refused).rejects.toThrow(InstanceHeld);
  await expect(refused).rejects.toThrow(
    `another process holds ${root}, or something else has port ${String(port)} of 127.0.0.1. One process alone may`,
  );
  await new Promise((resolve) => other.close(resolve));
  await (await lockInstance(root, "darwin")).release();
});
