// Proves what a redaction puts in place of content, and that it never guesses what is content.
import { describe, expect, it } from "vitest";
import { decodeEvent } from "../core/codec.ts";
import { tombstoneDigest } from "../core/envelope.ts";
import { nodeHasher } from "./node-hasher.ts";
import { eventTombstone, itemTombstone } from "./tombstone.ts";

const finished = { callId: "c1_0", status: "ok", content: [{ type: "text", text: "the secret" }] };

describe("an event's tombstone", () => {
  it("is its skeleton, which decodes, and the digest that the list of redactions holds", () => {
    const event = { seq: 3, type: "ToolFinished", body: JSON.stringify(finished) };
    const { body, digest } = eventTombstone("t", event);
    expect(decodeEvent("ToolFinished", body)).toMatchObject({ callId: "c1_0", status: "ok", redacted: true });
    expect(body).not.toContain("the secret");
    expect(digest).toEqual(tombstoneDigest(nodeHasher, "ToolFinished", body));
  });

  it("is left to the version that wrote the event", () => {
    const newer = { seq: 3, type: "ToolFinished", body: JSON.stringify({ ...finished, mood: "good" }) };
    expect(() => eventTombstone("t", newer)).toThrow(expect.objectContaining({ code: "newer_version" }));
    const unknown = { seq: 3, type: "ToolSmiled", body: "{}" };
    expect(() => eventTombstone("t", unknown)).toThrow(expect.objectContaining({ code: "newer_version" }));
  });

  it("is refused for a body that cannot be read, naming task and event", () => {
    const broken = { seq: 3, type: "ToolFinished", body: "{" };
    const told = expect.objectContaining({ code: "damaged", message: expect.stringContaining("event 3 of task t") });
    expect(() => eventTombstone("t", broken)).toThrow(told);
  });
});

describe("an item's tombstone", () => {
  it("is its skeleton", () => {
    const body = JSON.stringify({ type: "Say", text: "the secret" });
    expect(JSON.parse(itemTombstone("t", { seq: 1, body }))).toEqual({ type: "Say", text: "", redacted: true });
  });

  it("is its own tombstone", () => {
    const once = itemTombstone("t", { seq: 1, body: JSON.stringify({ type: "Say", text: "the secret" }) });
    expect(itemTombstone("t", { seq: 1, body: once })).toBe(once);
  });

  it("is left to the version that wrote the item", () => {
    const newer = { seq: 1, body: JSON.stringify({ type: "Wink" }) };
    expect(() => itemTombstone("t", newer)).toThrow(expect.objectContaining({ code: "newer_version" }));
  });
});
