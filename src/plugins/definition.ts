// A tool's definition: all of it that the model is shown or that recovery relies on, as one text with one hash.
import { createHash } from "node:crypto";
import type { ToolDefinition } from "../core/request.ts";
import type { Tool } from "./plugin.ts";
import { jsonSchemaOf } from "./schema.ts";

export interface HashedDefinition {
  readonly definition: ToolDefinition;
  /**
   * Canonical JSON: no white space, the definition's own fields in one order and the absent ones left out, the schema's
   * keys as they were written, since models fill in parameters in the order in which they are shown.
   */
  readonly text: string;
  /** SHA-256 of the text's UTF-8, hex. */
  readonly hash: string;
}

/** The tool's definition. Throws where its input is not an object. */
export const definitionOf = (tool: Tool): HashedDefinition => {
  const inputSchema = jsonSchemaOf(tool.inputSchema);
  if (inputSchema["type"] !== "object") {
    throw new Error("its inputSchema must describe an object, as providers require");
  }
  const { name, description, effect, idempotent, onUnknown } = tool;
  const definition: ToolDefinition = {
    name,
    description,
    inputSchema,
    effect,
    ...(idempotent === undefined ? {} : { idempotent: { ttlMs: idempotent.ttlMs } }),
    ...(tool.verify === undefined ? {} : { verify: true }),
    ...(onUnknown === undefined ? {} : { onUnknown }),
    ...(tool.deferred === true ? { deferred: true } : {}),
  };
  const text = JSON.stringify(definition);
  return { definition, text, hash: createHash("sha256").update(text, "utf8").digest("hex") };
};
