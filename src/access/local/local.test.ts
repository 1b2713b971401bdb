// The access port of the configuration, alone and under the cache, and what it says of sources.
import { expect, test } from "vitest";
import { accessContract } from "../access.contract.ts";
import { cachedAccess, defaultCaching } from "../cached.ts";
import { createLocalAccess, openAccess } from "./local.ts";

const ADA = "discord:1";
const BOB = "discord:2";
const local = () => createLocalAccess({ places: { here: [ADA], hall: "everyone" }, sources: { diary: [ADA] } });
const subject = { principal: ADA, place: "here", closed: "there", stranger: BOB, source: "diary" };

accessContract("local", () => ({ access: local(), ...subject }));
accessContract("local, cached", () => {
  const clock = { monotonic: () => 0, sleep: () => new Promise<void>(() => undefined) };
  return { access: cachedAccess(local(), { ...defaultCaching, clock }), ...subject };
});

test("a place for everyone is open to whoever was authenticated, and to nobody that is not known", async () => {
  expect(await local().may({ principal: BOB, place: "hall", to: "act" })).toBe(true);
  const known = createLocalAccess({ principals: [ADA], places: { hall: "everyone" } });
  expect(await known.may({ principal: ADA, place: "hall", to: "act" })).toBe(true);
  expect(await known.may({ principal: BOB, place: "hall", to: "act" })).toBe(false);
});

test("a source is as open as the place, unless it names its readers", async () => {
  const read = (principal: string, source: string) => local().may({ principal, place: "hall", to: "read", source });
  expect(await read(BOB, "board")).toBe(true);
  expect(await read(BOB, "diary")).toBe(false);
  expect(await read(ADA, "diary")).toBe(true);
});

test("an open port says yes", async () => {
  expect(await openAccess.may({ principal: BOB, place: "anywhere", to: "act" })).toBe(true);
});
