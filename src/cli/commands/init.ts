// perdure init: a small project, ready to run without a key: a configuration with an agent and a tool, and a file to ask about.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { packageVersion } from "../../versions.ts";
import { defineCommand } from "../command.ts";
import { CommandError } from "../failure.ts";

/** A name that npm takes. */
const packageName = (folder: string): string => {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? "agent" : name;
};

const packageJson = (folder: string): string =>
  `${JSON.stringify(
    {
      name: packageName(folder),
      private: true,
      type: "module",
      engines: { node: ">=24" },
      scripts: { start: 'perdure run "what is in notes.txt?"', check: "perdure doctor" },
      dependencies: { perdure: `^${packageVersion}` },
    },
    null,
    2,
  )}\n`;

const CONFIG = `// What perdure runs here. "npx perdure doctor" says whether it holds together.
import { appendFile } from "node:fs/promises";
import { defineAgent, defineConfig, defineTool, fs } from "perdure";

// A write is never repeated silently: when it is cut off, it is unknown until somebody says what happened, or until a
// \`verify\` of the tool's own does.
const notify = defineTool({
  name: "Notify",
  description: "Sends a message to the team.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  effect: "write",
  async execute({ text }) {
    await appendFile("team.txt", \`\${text}\\n\`);
    return "sent";
  },
});

export default defineConfig({
  agents: [
    defineAgent({
      name: "helper",
      identity: "You help with the files in one folder.",
      system: "Look before you answer. Answer briefly.",
      // "demo" needs no key, and is no language model. With a key: "anthropic/…" or "openai/…".
      model: "demo",
      plugins: [fs()],
      tools: [notify],
    }),
  ],
});
`;

const NOTES = "perdure keeps every task in a log.\nKill it, and it goes on.\n";
const IGNORED = "node_modules/\n.perdure/\n";

const filesFor = (folder: string): Readonly<Record<string, string>> => ({
  "package.json": packageJson(folder),
  "perdure.config.ts": CONFIG,
  "notes.txt": NOTES,
  ".gitignore": IGNORED,
});

export const init = defineCommand({
  name: "init",
  summary: "write a small project: a configuration with an agent and a tool",
  words: { folder: "optional" },
  options: {},
  notes: "Writes no file that is there already, and nothing at all where there is a configuration.",
  perform: async ({ cwd, output, command }, { options, words: { folder = "." } }) => {
    const root = resolve(cwd, folder);
    if (existsSync(join(root, "perdure.config.ts"))) {
      throw new CommandError(`${relative(cwd, root) || "this folder"} has a perdure.config.ts already`);
    }
    mkdirSync(root, { recursive: true });
    const files = Object.entries(filesFor(root)).filter(([name]) => !existsSync(join(root, name)));
    for (const [name, text] of files) writeFileSync(join(root, name), text, { flag: "wx" });
    const written = files.map(([name]) => name);
    if (options.json === true) output.json({ folder: root, written });
    else {
      for (const name of written) output.print(join(folder, name));
      const enter = folder === "." ? "" : `cd ${folder} && `;
      output.tell(`\nThen: ${enter}npm install && ${command} run "what is in notes.txt?"`);
    }
    return Promise.resolve(0);
  },
});
