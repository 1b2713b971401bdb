// A tool's schema made ready: as the JSON Schema that the model is shown, and as a check of what the model sends.
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import type { Checked, InputSchema } from "./plugin.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface CompiledSchema {
  readonly jsonSchema: JsonSchema;
  /** Whether a value fits. The message names each field and what was expected there. Async only where the schema is. */
  validate(value: unknown): Checked | Promise<Checked>;
}

type StandardSchema = StandardSchemaV1 & StandardJSONSchemaV1;

interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/** More than this many would bury the first, which is most often the cause of the rest. */
const MESSAGE_FIELDS = 5;

const where = (path: readonly PropertyKey[]): string => (path.length === 0 ? "the input" : path.map(String).join("."));

const pointer = (path: string): string[] =>
  path
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));

const list = (phrases: readonly string[]): string => {
  const more = phrases.length - MESSAGE_FIELDS;
  return phrases.slice(0, MESSAGE_FIELDS).join("; ") + (more > 0 ? `; and ${String(more)} more` : "");
};

/** What one failed keyword says. Null for those that only sum up what others say. */
const phraseOf = ({ keyword, params, message }: SchemaError): string | null => {
  if (keyword === "anyOf" || keyword === "boolean") return null;
  if (keyword === "const") return `must be ${JSON.stringify((params as { allowedValue: unknown }).allowedValue)}`;
  if (keyword === "enum") {
    const { allowedValues } = params as { allowedValues: readonly unknown[] };
    return `must be ${allowedValues.map((value) => JSON.stringify(value)).join(" or ")}`;
  }
  return message;
};

/** The names of properties that are missing or too many, told as fields of their own. */
const propertiesOf = ({
  keyword,
  params,
}: SchemaError): { readonly names: readonly string[]; readonly say: string } | null => {
  const lists = params as Record<string, readonly string[]>;
  if (keyword === "required") return { names: lists["requiredProperties"] ?? [], say: "is required" };
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") {
    return { names: lists[keyword] ?? [], say: "is not a known field" };
  }
  return null;
};

const explain = (errors: readonly SchemaError[]): string => {
  const fields = new Map<string, Set<string>>();
  const add = (path: readonly string[], phrase: string): void => {
    const field = where(path);
    fields.set(field, (fields.get(field) ?? new Set()).add(phrase));
  };
  for (const error of errors) {
    const path = pointer(error.instancePath);
    const properties = propertiesOf(error);
    for (const name of properties?.names ?? []) add([...path, name], properties?.say ?? "");
    const phrase = properties === null ? phraseOf(error) : null;
    if (phrase !== null) add(path, phrase);
  }
  return list([...fields].map(([field, phrases]) => `${field} ${[...phrases].join(" or ")}`));
};

// Array.from: a library's path may be an array of its own kind, whose `map` makes something else.
const issueText = ({ message, path = [] }: StandardSchemaV1.Issue): string =>
  `${where(Array.from(path, (part) => (typeof part === "object" ? part.key : part)))}: ${message}`;

const judge = (result: StandardSchemaV1.Result<unknown>): Checked =>
  result.issues === undefined
    ? { ok: true, value: result.value }
    : { ok: false, message: list(result.issues.map(issueText)) };

const isStandard = (schema: InputSchema): schema is StandardSchema => "~standard" in schema;

/**
 * The schema as plain JSON, with its keys in the order in which they were written. Throws where its library cannot say
 * it as JSON Schema. A RegExp becomes its source: JSON would make it an empty object.
 */
export const jsonSchemaOf = (schema: InputSchema): JsonSchema => {
  const whole: unknown = isStandard(schema)
    ? schema["~standard"].jsonSchema.input({ target: "draft-2020-12" })
    : schema;
  const text = JSON.stringify(whole, (_, value: unknown) => (value instanceof RegExp ? value.source : value));
  return JSON.parse(text) as JsonSchema;
};

const standardCheck =
  ({ "~standard": standard }: StandardSchema): CompiledSchema["validate"] =>
  (value) => {
    const result = standard.validate(value);
    return result instanceof Promise ? result.then(judge) : judge(result);
  };

const jsonCheck = (schema: JsonSchema): CompiledSchema["validate"] => {
  const validator = Compile(schema as TSchema);
  return (value) =>
    validator.Check(value) ? { ok: true, value } : { ok: false, message: explain(validator.Errors(value)) };
};

/** Compiles a tool's schema. Throws where it is none. */
export const compileSchema = (schema: InputSchema): CompiledSchema => {
  const jsonSchema = jsonSchemaOf(schema);
  return { jsonSchema, validate: isStandard(schema) ? standardCheck(schema) : jsonCheck(jsonSchema) };
};
