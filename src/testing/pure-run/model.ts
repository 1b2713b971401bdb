// The pure run's model: what a call to it may come to.
import type { ReplyPart } from "../../core/messages.ts";
import type { ModelFailure } from "../../core/records.ts";
import { buildPrefix, hashPrefix, hashRequest } from "../../core/request.ts";
import { call, called, core, item, recorded, replied } from "../given.ts";
import { pureMac } from "../pure-hasher.ts";
import { append, post, takeOver, type PureRun } from "./run.ts";
import { worldDefinitions, worldTools } from "./world.ts";

const names: readonly [string, ...string[]] = ["no_such_tool", ...worldTools.map((each) => each.name)];

/** A reply that asks for one to four calls, perhaps with words and reasoning before them. */
const callsReply = ({ choices }: PureRun): ReplyPart[] => {
  const parts: ReplyPart[] = [];
  if (choices.once(3)) parts.push({ type: "reasoning", text: "hm", provider: { signature: "s" } });
  if (choices.once(2)) parts.push({ type: "text", text: choices.of(["I will look.", "\n\n"]) });
  for (let count = choices.below(4); count >= 0; count -= 1) parts.push(call(choices.of(names), { n: count }));
  return parts;
};

const fail = (run: PureRun, failure: ModelFailure): void => {
  const { attempts } = run.state.model;
  const retryAt = run.now + 1_000;
  append(run, core("model_failed", { class: failure, purpose: "turn", attempt: attempts, durationMs: 5, retryAt }));
};

const answer = (run: PureRun): void => {
  const usage = { tokens: { input: 10, output: 2, cacheRead: 3 }, durationMs: 7 };
  const stopReason = run.choices.of(["end_turn", "max_tokens", "end_turn", "refusal"]);
  append(run, replied("It says hello.", { usage, stopReason }));
};

const announce = (run: PureRun, attempt: number): void => {
  const { state } = run;
  const prefix = buildPrefix(state, worldDefinitions);
  const chain = state.model.open === undefined ? state.chain : undefined;
  const hash = hashRequest(state.messages, hashPrefix(prefix, pureMac), pureMac, chain);
  const { prefixHash, messages } = hash;
  append(run, called({ attempt, requestHash: hash.hash, prefixHash, messages }));
};

/** Before a call: a plugin's words, or the erasure of a person's that a hook blocks. */
const prepare = (run: PureRun): boolean => {
  const { state, choices } = run;
  if (state.model.open !== undefined) return true;
  const newest = state.messages.at(-1);
  if (state.turn?.steps === 0 && newest?.role === "user" && choices.once(12)) {
    append(run, core("erased", { seqs: [newest.seq], reason: "blocked" }));
    return false;
  }
  if (choices.once(6)) append(run, recorded("notes", "reminder", {}, { words: "[Mind the time.]" }));
  return true;
};

export const performModelCall = (
  run: PureRun,
  step: { readonly attempt: number; readonly notBefore: number },
): void => {
  run.now = Math.max(run.now, step.notBefore);
  if (!prepare(run)) return;
  announce(run, step.attempt);
  switch (run.choices.below(12)) {
    case 0:
    case 1:
      return answer(run);
    case 2:
    case 3:
      return fail(run, run.choices.of(["network", "empty", "overloaded"]));
    case 4:
      fail(run, "auth");
      return append(run, core("turn_failed", { reason: "model_auth" }));
    case 5:
      return takeOver(run);
    case 6:
      post(run, item("Interrupt", {}, { seq: run.inboxSeq + 1 }));
      return fail(run, "aborted");
    default:
      return append(run, replied(callsReply(run)));
  }
};
