// A server that stands for a provider: it keeps what it was sent and answers as a test says, also with faults that a mock of
// whole replies does not know. And the models under test, opened by name at such a server.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { ModelRequest } from "../../src/core/request.ts";
import { openNamedModel } from "../../src/model/ai-sdk/named.ts";
import type { Model, ModelContext } from "../../src/model/model.ts";
import { anthropic, chat, responses, type Wire, type WireReply } from "./wires.ts";

export interface Kind {
  readonly name: string;
  readonly wire: Wire;
}

export const kinds: readonly Kind[] = [
  { name: "anthropic/claude-sonnet-4-5", wire: anthropic },
  { name: "openai/gpt-5", wire: responses },
  { name: "openai-chat/gpt-4o", wire: chat },
  { name: "compatible/llama3", wire: chat },
];

export const KEY = "sk-a-key-that-nobody-may-see-0123456789";

export const environment = (url: string): Readonly<Record<string, string>> => ({
  ANTHROPIC_API_KEY: KEY,
  ANTHROPIC_BASE_URL: `${url}/v1`,
  OPENAI_API_KEY: KEY,
  OPENAI_BASE_URL: `${url}/v1`,
  PERDURE_COMPATIBLE_API_KEY: KEY,
  PERDURE_COMPATIBLE_BASE_URL: `${url}/v1`,
});

export const openAt = (name: string, url: string): Promise<Model> => {
  const variables = environment(url);
  return openNamedModel(name, (variable) => variables[variable]);
};

export interface Received {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** Resolves once the other side has ended the connection before the answer was whole. */
  readonly aborted: Promise<void>;
}

export interface ProviderServer {
  readonly url: string;
  readonly received: Received[];
}

type Answer = (response: ServerResponse, received: Received) => void;

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
};

/** Answers each request as `answer` says; closed after the test. */
export const openServer = async (answer: Answer): Promise<ProviderServer> => {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const aborted = new Promise<void>((resolve) => {
      response.on("close", () => {
        if (!response.writableFinished) resolve();
      });
    });
    void readBody(request).then((body) => {
      const one = { path: request.url ?? "", headers: request.headers, body, aborted };
      received.push(one);
      answer(response, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, received };
};

/** An address at which nobody listens. */
export const nowhere = async (): Promise<string> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${String(port)}`;
};

/** Starts a stream of events. */
export const streaming = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { "content-type": "text/event-stream" });

/** A whole reply. */
export const replying =
  (wire: Wire, reply: WireReply): Answer =>
  (response) => {
    streaming(response).end(wire.frames(reply).join(""));
  };

export const failing =
  (status: number, body: object | string, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    const json = typeof body === "string" ? body : JSON.stringify(body);
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(json);
  };

export const context: ModelContext = { taskId: "t", replies: 0, attempt: 1, purpose: "turn" };

const readTool = {
  name: "Read",
  description: "Reads a file.",
  inputSchema: { type: "object", properties: { file_path: { type: "string" } }, required: ["file_path"] },
};

export const requestOf = (messages: ModelRequest["messages"], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: "under test",
  system: ["You are tested.", "Be brief."],
  tools: [readTool],
  messages,
  cacheAt: messages.length - 1,
  ...more,
});

export const asking = (text: string): ModelRequest =>
  requestOf([{ seq: 4, role: "user", content: [{ type: "text", text }] }]);
