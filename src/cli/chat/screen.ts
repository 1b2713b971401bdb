// The live view of a chat, drawn by Ink: what is over stays above and is never drawn again; below it what goes on now, and the
// line that is typed.
import { Box, Static, Text, render, useApp, useInput, useWindowSize, type RenderOptions } from "ink";
import TextInput from "ink-text-input";
import { createElement as h, useEffect, useReducer, useRef, useState, type ReactNode } from "react";
import { safe } from "../program.ts";
import type { Conversation } from "./conversation.ts";
import { requestsOf, type Seen } from "./intent.ts";
import {
  approvalLines,
  blockLines,
  briefApprovalLines,
  callLines,
  planLines,
  questionLines,
  queuedLines,
  requestLines,
  statusLine,
  unknownLines,
} from "./lines.ts";
import type { Block, Transcript } from "./transcript.ts";

/** Two presses of Ctrl-C within this leave (ms). */
const TWICE_MS = 2_000;
const TICK_MS = 500;
/** How much of a reply on its way is shown: a terminal cannot redraw more lines than it has. */
const TAIL_LINES = 12;
/** Lines that are not the requests': calls, status, what is typed, the hint. */
const OTHER_LINES = 8;

/** What is drawn, and what the keys do. */
export type Drawn = Pick<
  Conversation,
  "transcript" | "isBusy" | "left" | "subscribe" | "enter" | "interrupt" | "leave"
>;

export interface ScreenOptions {
  readonly colours: boolean;
  /** Shown under the line that is typed. */
  readonly hint: string;
}

type Colour = "cyan" | "green" | "yellow" | "red" | "gray";

const colourOf = (block: Block): Colour => {
  if (block.kind === "person") return "cyan";
  if (block.kind === "note") return "yellow";
  return block.kind === "call" && block.status !== "ok" ? "red" : "green";
};

const coloured = (colours: boolean, color: Colour) => (colours ? { color } : {});

const line = (text: string, key: string | number, props: object = {}): ReactNode => h(Text, { key, ...props }, text);

const blockView = (block: Block, key: number, colours: boolean): ReactNode => {
  const { head, lines } = blockLines(block);
  const quiet = block.kind === "call" ? { dimColor: colours } : {};
  return h(
    Box,
    { key, flexDirection: "column", marginTop: 1 },
    line(head, "head", { bold: colours, ...coloured(colours, colourOf(block)) }),
    h(Box, { key: "lines", flexDirection: "column", paddingLeft: 2 }, ...lines.map((text, n) => line(text, n, quiet))),
  );
};

const tailOf = (saying: string): string[] => safe(saying).split("\n").slice(-TAIL_LINES);

interface LiveOptions {
  readonly conversation: Drawn;
  readonly colours: boolean;
  /** What is asked of the person about calls that wait for a decision. */
  readonly asks: readonly string[];
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** What is drawn again and again has to fit the terminal: otherwise each key would fill the scrollback with it. */
const requestsFit = (transcript: Transcript, { columns, rows }: Size): boolean => {
  const heights = approvalLines(transcript).map((text) => Math.ceil((text.length + 2) / columns));
  return heights.reduce((sum, height) => sum + height, 0) <= rows - OTHER_LINES;
};

/** What is over, in order, and with it the requests that are too long to be drawn again: whole, once. Only added to. */
const useOver = (transcript: Transcript, fit: boolean): readonly Block[] => {
  const over = useRef({ blocks: [] as Block[], taken: 0, requests: new Set<string>() }).current;
  over.blocks.push(...transcript.blocks.slice(over.taken));
  over.taken = transcript.blocks.length;
  for (const pending of fit ? [] : requestsOf(transcript.state)) {
    if (over.requests.has(pending.request)) continue;
    over.requests.add(pending.request);
    over.blocks.push({ kind: "asked", lines: requestLines(transcript, pending) });
  }
  return over.blocks;
};

const Live = ({ conversation, colours, asks }: LiveOptions): ReactNode => {
  const { transcript } = conversation;
  const now = Date.now();
  const { state, saying } = transcript;
  const said =
    saying === ""
      ? []
      : [line("agent", "says", coloured(colours, "green")), ...tailOf(saying).map((text, n) => line(`  ${text}`, n))];
  const asked = [...questionLines(state), ...asks, ...unknownLines(state)];
  return h(
    Box,
    { flexDirection: "column", marginTop: 1 },
    ...said,
    ...planLines(state).map((text, n) => line(text, `plan ${String(n)}`, coloured(colours, "gray"))),
    ...callLines(state, now).map((text, n) => line(`* ${text}`, `call ${String(n)}`, coloured(colours, "yellow"))),
    ...asked.map((text, n) => line(`? ${text}`, `asks ${String(n)}`, { bold: colours, ...coloured(colours, "cyan") })),
    ...queuedLines(transcript).map((text, n) => line(`+ ${text}`, `queued ${String(n)}`, coloured(colours, "gray"))),
    line(`- ${statusLine(transcript, now)}`, "status", coloured(colours, "gray")),
  );
};

/** Draws anew when something changed, and twice a second while time is shown. */
const useChanges = (conversation: Drawn): void => {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const unsubscribe = conversation.subscribe(redraw);
    const timer = setInterval(() => {
      if (conversation.isBusy) redraw();
    }, TICK_MS);
    return () => {
      unsubscribe();
      clearInterval(timer);
    };
  }, [conversation]);
};

const useInterrupt = (conversation: Drawn, say: (hint: string) => void): void => {
  const [last, setLast] = useState(-TWICE_MS);
  useInput((input, key) => {
    if (!key.ctrl || input !== "c") return;
    const now = performance.now();
    if (now - last < TWICE_MS) conversation.leave();
    else if (conversation.isBusy) {
      say("interrupting; Ctrl-C once more leaves");
      void conversation.interrupt();
    } else say("Ctrl-C once more leaves");
    setLast(now);
  });
};

const Chat = ({ conversation, options }: { conversation: Drawn; options: ScreenOptions }): ReactNode => {
  const { exit } = useApp();
  const [typed, setTyped] = useState("");
  const [hint, setHint] = useState(options.hint);
  const seen = useRef<Seen>(null);
  const { columns, rows } = useWindowSize();
  useChanges(conversation);
  useInterrupt(conversation, setHint);
  useEffect(() => {
    const leave = (): void => {
      exit();
    };
    if (conversation.left.aborted) leave();
    conversation.left.addEventListener("abort", leave);
    return () => conversation.left.removeEventListener("abort", leave);
  }, [conversation, exit]);
  const { colours } = options;
  const onSubmit = (text: string): void => {
    setTyped("");
    setHint(options.hint);
    void conversation.enter(text, seen.current);
  };
  // What is pasted comes in one piece, its line ends with it.
  const onChange = (text: string): void => {
    const lines = text.replaceAll(/\r\n?/g, "\n");
    if (typed === "") seen.current = requestsOf(conversation.transcript.state)[0]?.request ?? null;
    if (lines.endsWith("\n")) onSubmit(lines);
    else setTyped(lines);
  };
  const { transcript } = conversation;
  const fit = requestsFit(transcript, { columns, rows });
  const drawn = useOver(transcript, fit).slice();
  const asks = fit ? approvalLines(transcript) : briefApprovalLines(transcript, columns - 2);
  return h(
    Box,
    { flexDirection: "column" },
    h(Static<Block>, { items: drawn, children: (block, index) => blockView(block, index, colours) }),
    h(Live, { conversation, colours, asks }),
    h(
      Box,
      { key: "typed" },
      line("> ", "prompt", coloured(colours, "cyan")),
      h(TextInput, { value: typed, onChange, onSubmit }),
    ),
    line(hint, "hint", { dimColor: colours }),
  );
};

/** Draws until the person has left, on this process's terminal unless told. */
export const showScreen = async (
  conversation: Drawn,
  options: ScreenOptions,
  terminal: Pick<RenderOptions, "stdin" | "stdout" | "interactive" | "patchConsole"> = {},
): Promise<void> => {
  const app = render(h(Chat, { conversation, options }), { exitOnCtrlC: false, patchConsole: true, ...terminal });
  await app.waitUntilExit();
};
