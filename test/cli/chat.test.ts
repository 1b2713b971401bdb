// A chat without a screen, in processes of its own: talked to, interrupted, killed, and opened again.
import { expect, test } from "vitest";
import { createPlace, lines, logOf, newestTask, shapeOf } from "./perdure.ts";

const script = lines({ text: "Hello." }, { text: "never seen", delayMs: 600_000 }, { text: "Here I am again." });

const createTalker = () => {
  const place = createPlace();
  place.write("replies.jsonl", script);
  return place;
};

const command = ["chat", "--model", "scripted:replies.jsonl"];

test("a chat answers what is piped in, prints who said what, and stays", async () => {
  const place = createTalker();
  const chat = place.start(command);
  chat.type("hi");
  chat.typeNoMore();
  const { code, stdout, stderr } = await chat.finished;
  expect(stdout).toBe("you:\n  hi\nagent:\n  Hello.\n");
  expect(stderr).toMatch(/^- ready\ntask [a-z2-7]{20} stays; go on: perdure chat [a-z2-7]{20}\n$/);
  expect(code).toBe(0);
});

test("Ctrl-C interrupts the turn, once more leaves; opened again, it shows all that was said and goes on", async () => {
  const place = createTalker();
  const chat = place.start(command);
  chat.type("hi");
  await chat.said("- ready");
  chat.type("and now?");
  await chat.said("and now?");
  const taskId = await newestTask(place);
  chat.signal("SIGINT");
  await chat.said("- paused (interrupted)");
  chat.signal("SIGINT");
  expect((await chat.finished).code).toBe(3);
  place.write("replies.jsonl", lines({ text: "Hello." }, { text: "Here I am again." }));
  const again = place.start(["chat", taskId.slice(0, 6)]);
  await again.said("interrupted");
  again.type("still there?");
  again.typeNoMore();
  const { stdout, code } = await again.finished;
  expect(stdout).toBe(
    [
      ...["you:", "  hi", "agent:", "  Hello.", "you:", "  and now?", "note:", "  interrupted"],
      ...["you:", "  still there?", "agent:", "  Here I am again.", ""],
    ].join("\n"),
  );
  expect(code).toBe(0);
});

test("a chat that is killed in a turn goes on with the same request when it is opened again", async () => {
  const place = createTalker();
  const chat = place.start(command);
  chat.type("hi");
  await chat.said("- ready");
  chat.type("and now?");
  await chat.said("and now?");
  const taskId = await newestTask(place);
  chat.signal("SIGKILL");
  await chat.finished;
  place.write("replies.jsonl", lines({ text: "Hello." }, { text: "Yes." }));
  const again = place.start(["chat", taskId]);
  await again.said("Yes.");
  again.type("/quit");
  expect((await again.finished).code).toBe(0);
  const events = await logOf(place, taskId);
  const calls = events.filter(({ type }) => type === "ModelCalled").slice(1);
  expect(new Set(calls.map(({ requestHash }) => requestHash)).size).toBe(1);
  expect(shapeOf(events).filter((shape) => shape === "InputTaken")).toHaveLength(2);
});

test("what cannot be done is told, and nothing is lost", async () => {
  const place = createTalker();
  const chat = place.start(command);
  chat.type("/steer not yet");
  await chat.said("there is no task yet");
  chat.type("hi");
  await chat.said("- ready");
  chat.type("/resolve c1_0 done I saw it");
  await chat.said("not accepted: task");
  chat.type("/dance");
  await chat.said("there is no /dance");
  chat.typeNoMore();
  expect((await chat.finished).code).toBe(0);
});
