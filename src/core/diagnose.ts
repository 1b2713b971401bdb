// Tells what a newer version wrote from what is broken. Asked only about values that a validator has refused.
import type { TSchema } from "typebox";

/** `newer`: a field, a word or a type that is not known here. Otherwise something is missing, or of the wrong type. */
export interface Fault {
  readonly newer: boolean;
  readonly path: string;
  readonly what: string;
}

/** The keywords that the schemas of events, records and items are made of. */
interface Node {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly Node[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: unknown;
  readonly items?: Node;
  readonly minimum?: number;
}

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return "array";
  return value === null ? "null" : typeof value;
};

const fault = (newer: boolean, path: string, what: string): Fault[] => [{ newer, path, what }];

const literalFaults = (node: Node, value: unknown, path: string): Fault[] => {
  if (value === node.const) return [];
  const known = typeof value === typeof node.const;
  return fault(known, path, known ? `${JSON.stringify(value)} is not known here` : `must be ${typeof node.const}`);
};

const objectFaults = (node: Node, value: object, path: string): Fault[] => {
  const properties = node.properties ?? {};
  const missing = (node.required ?? []).filter((key) => !Object.hasOwn(value, key));
  const faults = missing.flatMap((key) => fault(false, path, `lacks ${key}`));
  for (const [key, entry] of Object.entries(value)) {
    const schema = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (schema !== undefined) faults.push(...faultsOf(schema, entry, `${path}/${key}`));
    else if (node.additionalProperties === false) faults.push(...fault(true, path, `${key} is not known here`));
  }
  return faults;
};

/** A union is of words, of objects told apart by their `type`, of plain types, or of one object and one word. */
const unionFaults = (members: readonly Node[], value: unknown, path: string): Fault[] => {
  const kind = typeOf(value);
  const isWord = (member: Node): boolean => Object.hasOwn(member, "const");
  const alike = members.filter((member) => kind === (isWord(member) ? typeof member.const : member.type));
  const [first] = alike;
  if (first === undefined) return fault(false, path, `${kind} is of no known form`);
  if (isWord(first) && alike.some((member) => member.const === value)) return [];
  const tag = first.properties?.["type"];
  if (tag === undefined) return faultsOf(first, value, path);
  const { type } = value as { type?: unknown };
  const named = alike.find((member) => member.properties?.["type"]?.const === type);
  return named === undefined ? literalFaults(tag, type, `${path}/type`) : faultsOf(named, value, path);
};

const numberFaults = (node: Node, value: unknown, path: string): Fault[] => {
  const isRight = node.type === "integer" ? Number.isInteger(value) : Number.isFinite(value);
  if (!isRight) return fault(false, path, `must be ${String(node.type)}`);
  if (node.minimum === undefined || (value as number) >= node.minimum) return [];
  return fault(false, path, `must be at least ${String(node.minimum)}`);
};

const faultsOf = (node: Node, value: unknown, path: string): Fault[] => {
  if (node.anyOf !== undefined) return unionFaults(node.anyOf, value, path);
  if (Object.hasOwn(node, "const")) return literalFaults(node, value, path);
  if (node.type === "integer" || node.type === "number") return numberFaults(node, value, path);
  if (node.type !== undefined && node.type !== typeOf(value)) return fault(false, path, `must be ${node.type}`);
  if (node.type === "object") return objectFaults(node, value as object, path);
  if (node.type !== "array") return [];
  const { items = {} } = node;
  return (value as readonly unknown[]).flatMap((entry, index) => faultsOf(items, entry, `${path}/${String(index)}`));
};

/** The first fault that no newer version explains, else the first one; undefined when nothing is wrong. */
export const diagnose = (schema: TSchema, value: unknown): Fault | undefined => {
  const faults = faultsOf(schema as Node, value, "");
  return faults.find(({ newer }) => !newer) ?? faults[0];
};
