// A chat as plain lines, one after the other and none drawn again: for screen readers, pipes, and terminals that can no more.
import { createInterface } from "node:readline";
import type { Program } from "../program.ts";
import type { Conversation } from "./conversation.ts";
import { approvalLines, blockLines, planLines, questionLines, queuedLines, statusLine, unknownLines } from "./lines.ts";

/** Prints what is over as it comes, and where the task stands whenever it comes to rest. */
export const showPlain = async (
  { output }: Program,
  conversation: Conversation,
  { stdin, echo }: { readonly stdin: NodeJS.ReadableStream; readonly echo: boolean },
): Promise<void> => {
  const { transcript } = conversation;
  let printed = 0;
  let restedAt = 0;
  const resting = Promise.withResolvers<void>();
  let ended = false;
  const show = (): void => {
    for (const block of transcript.blocks.slice(printed)) {
      printed += 1;
      if (block.kind === "person" && !echo) continue;
      const { head, lines } = blockLines(block);
      output.print([`${head}:`, ...lines.map((line) => `  ${line}`)].join("\n"));
    }
    const { state } = transcript;
    const rests = state !== undefined && !conversation.isBusy;
    if (!rests || state.seq === restedAt) return;
    restedAt = state.seq;
    const asked = [...questionLines(state), ...approvalLines(transcript), ...unknownLines(state)];
    for (const line of [...planLines(state), ...asked, ...queuedLines(transcript)]) output.print(line);
    output.tell(`- ${statusLine(transcript, Date.now())}`);
    if (ended) resting.resolve();
  };
  const unsubscribe = conversation.subscribe(show);
  show();
  const lines = createInterface({ input: stdin });
  const left = new Promise<void>((resolve) => {
    conversation.left.addEventListener("abort", () => resolve());
    if (conversation.left.aborted) resolve();
  });
  const typed = (async () => {
    for await (const line of lines) await conversation.enter(line);
    // Nobody types any more: what was asked is still answered.
    ended = true;
    if (conversation.isBusy) await resting.promise;
    conversation.leave();
  })();
  await Promise.race([left, typed]);
  lines.close();
  unsubscribe();
};
