// A whole story at the command line: a refund that is asked about, approved, killed in the middle, unknown, verified; then a
// colleague corrects the next one, the owner decides on it, and the task moves on. Every command is shown with what it says
// and its exit code. In an empty folder, with no key: node examples/people-and-a-crash.ts
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const config = `import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { ask, defineAgent, defineConfig, defineTool } from "perdure";

// What is outside: a bank's book, which is there or is not. bank.txt has a line for each refund.
const lineOf = (input: unknown): string => {
  const { order, amount } = input as { order: number; amount: number };
  return "order " + String(order) + ": " + String(amount) + "\\n";
};
const book = (): string => (existsSync("bank.txt") ? readFileSync("bank.txt", "utf8") : "");

const refund = defineTool({
  name: "Refund",
  description: "Pays an order back.",
  effect: "destructive",
  approval: "ask",
  inputSchema: {
    type: "object",
    properties: { order: { type: "number" }, amount: { type: "number" } },
    required: ["order", "amount"],
  },
  items: (input) => ["pay back " + lineOf(input).trim()],
  async execute(input) {
    appendFileSync("bank.txt", lineOf(input));
    process.stderr.write("  (the bank has it in its book)\\n");
    // The bank's answer, which does not come.
    if (process.env["BANK_HANGS"] !== undefined) await new Promise(() => undefined);
    return "paid back";
  },
  // Asked once after a crash, and by perdure verify: it looks, and pays nothing.
  verify: ({ input }) => {
    if (existsSync("bank-closed")) return "unknown";
    return book().includes(lineOf(input)) ? "done" : "absent";
  },
});

export default defineConfig({
  agents: [defineAgent({ name: "cashier", model: "scripted:replies.jsonl", tools: [refund], plugins: [ask()] })],
  access: { places: { cli: ["local:ada", "local:bob"], office: ["local:ada"] } },
});
`;

const replies = [
  { calls: [{ name: "Refund", input: { order: 17, amount: 40 } }] },
  { calls: [{ name: "ask", input: { question: "Order 17 is paid back. Order 18 in full, too?" } }] },
  { calls: [{ name: "Refund", input: { order: 18, amount: 45 } }] },
  { text: "Order 17 is paid back in full, order 18 by half." },
];

const program = fileURLToPath(new URL("bin/perdure.js", import.meta.resolve("perdure/package.json")));

const tell = (text: string): void => {
  process.stdout.write(`\n# ${text}\n`);
};

/** Starts `perdure …args`, and shows what it says. */
const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  process.stdout.write(`\n$ perdure ${args.map((arg) => (/[^\w./:-]/.test(arg) ? `"${arg}"` : arg)).join(" ")}\n`);
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, PERDURE_LEASE_MS: "1000", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => process.stdout.write(text));
  }
  return child;
};

/** Runs a command that has to end with the exit code `expected`, and gives what it said. */
const perdure = async (expected: number, ...args: readonly string[]): Promise<string> => {
  const child = start(args);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [number | null];
  process.stdout.write(`[exit ${String(code)}]\n`);
  if (code !== expected) throw new Error(`perdure ${args.join(" ")}: exit ${String(code)}, not ${String(expected)}`);
  return output;
};

const found = (pattern: RegExp, output: string): string => {
  const [, word] = pattern.exec(output) ?? [];
  if (word === undefined) throw new Error(`it did not say ${String(pattern)}: ${output}`);
  return word;
};

/** The same, killed once it has said `words`: the system's SIGKILL, which nothing can catch. */
const perdureKilled = async (words: string, ...args: readonly string[]): Promise<void> => {
  const child = start(args, { BANK_HANGS: "1" });
  let said = "";
  child.stderr.on("data", (text: string) => {
    said += text;
    if (said.includes(words)) child.kill("SIGKILL");
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  process.stdout.write(`[${signal ?? `exit ${String(code)}`}]\n`);
  if (signal !== "SIGKILL") throw new Error(`perdure ${args.join(" ")} ended before it was killed`);
};

writeFileSync("perdure.config.ts", config, { flag: "wx" });
writeFileSync("replies.jsonl", `${replies.map((reply) => JSON.stringify(reply)).join("\n")}\n`, { flag: "wx" });

tell("Ada lets an agent pay back two orders, and attends to something else. It asks before it acts.");
const asked = await perdure(3, "run", "Pay back orders 17 and 18.", "--as", "ada");
const task = found(/task (\w+) waits/, asked);

tell("She approves. The process is killed when the bank has paid and has not answered; then the bank closes.");
await perdureKilled("in its book", "approve", task, "--as", "ada");
writeFileSync("bank-closed", "");

tell("The next process asks the tool to look; the bank says nothing. So nobody knows, and nothing goes on.");
await perdure(3, "resume", task, "--as", "ada");
const action = found(/^actions +(\w+) /m, await perdure(0, "show", task, "--as", "ada"));
await perdure(1, "resume", task, "--as", "ada");

tell("The bank opens. The tool looks again: it was paid. Nothing is paid twice, and the task goes on.");
rmSync("bank-closed");
await perdure(3, "verify", task, action, "--as", "ada");
await perdure(3, "resume", task, "--as", "ada");

tell("Ada trusts it from here on, and lets Bob have a word. He corrects it; so she is asked all the same.");
await perdure(3, "auto-approve", "on", task, "--as", "ada");
await perdure(0, "collaborator", "add", task, "bob", "--as", "ada");
await perdure(0, "steer", task, "Only half of order 18.", "--as", "bob");
await perdure(3, "resume", task, "--as", "ada");
await perdure(0, "show", task, "--as", "ada");
await perdure(0, "approve", task, "--as", "ada");

tell("It moves to another place, and is found only there. Ada keeps all that it has been.");
await perdure(0, "handoff", task, "--to", "office", "--as", "ada");
await perdure(1, "show", task, "--as", "ada");
await perdure(0, "export", task, "--as", "ada", "--place", "office");
