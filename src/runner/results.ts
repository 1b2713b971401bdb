// The texts of results that the kernel writes itself. Each says what is known, so that the model never has to guess.
import type { EventOf } from "../core/events.ts";
import { text, type Content } from "../core/messages.ts";
import type { Settled } from "../core/decide.ts";
import type { Call } from "../core/state.ts";

type Finished = EventOf<"ToolFinished">;

export const finished = (
  callId: string,
  status: Finished["status"],
  content: string | Content,
  more: Partial<Pick<Finished, "details" | "resources" | "sources" | "settledBy">> = {},
): Finished => ({
  type: "ToolFinished",
  callId,
  status,
  content: typeof content === "string" ? [text(content)] : content,
  ...more,
});

/** `expired` is what the log says where nobody decided. */
const deniedText = ({ denied = "no reason given" }: Call): string =>
  `Denied: ${denied === "expired" ? "nobody decided in time" : denied}. It was not run.`;

const settledTexts = {
  skipped: "Not run: it was called off before it started. Nothing happened.",
  interrupted: "Stopped before it gave a result. It changes nothing outside.",
} as const;

/** The result of a call that ends without being run by this step. */
export const settledResult = (call: Call, as: Settled["as"]): Finished => {
  switch (as) {
    case "skipped":
      return finished(call.id, "skipped", settledTexts.skipped);
    case "interrupted":
      return finished(call.id, "error", settledTexts.interrupted);
    case "denied":
      return finished(call.id, "denied", deniedText(call));
    case "arrived": {
      const { status, content } = call.arrival ?? { status: "ok" as const, content: [] };
      return finished(call.id, status, content);
    }
    case "no_such_tool":
      return finished(call.id, "error", `There is no tool named ${call.name}. It was not run.`);
  }
};

export const toldUnknown = (call: Call, why: string): Finished =>
  finished(
    call.id,
    "error",
    `Unknown whether it took effect (${why}). Look at what is there before you try again; it was not run a second time.`,
  );

export const verified = (call: Call, done: boolean): Finished =>
  done
    ? finished(call.id, "ok", "It was interrupted, then checked: it took effect.", { settledBy: "verification" })
    : finished(call.id, "error", "It was interrupted, then checked: it did not take effect.", {
        settledBy: "verification",
      });

export const attested = (call: Call, done: boolean, by: string, words: string): Finished => {
  const what = done ? "it took effect" : "it did not take effect";
  return finished(call.id, done ? "ok" : "error", `Its outcome was unknown. ${by} attests that ${what}: ${words}`, {
    settledBy: "attestation",
  });
};
