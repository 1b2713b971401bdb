// fast-check arbitraries: any event and item that the schemas allow, and any log that perdure writes.
import fc, { type Arbitrary } from "fast-check";
import type { TSchema } from "typebox";
import { eventSchemas, eventTypes, type Event, type EventType, type Mode } from "../core/events.ts";
import { itemTypes, newItemSchemas, type ItemType, type NewItem } from "../core/items.ts";
import { RECORD_VERSION, recordKinds, recordSchemas, type RecordKind } from "../core/records.ts";
import { choicesOf } from "./pure-run/choices.ts";
import type { PureRun } from "./pure-run/run.ts";
import { runPurely, type PureRunOptions } from "./pure-run/runner.ts";

/** Any string that JavaScript can hold: NUL, lone surrogates and all. */
export const anyString: Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom("", "\0", "\ud800", "\udc00\ud800", "\u2028", "__proto__", "constructor", "toString", "0", "-1"),
);

// JSON has no -0: it comes back as 0.
const anyNumber = fc.oneof(fc.integer(), fc.double({ noDefaultInfinity: true, noNaN: true })).map((n) => n + 0 || 0);

/** Any JSON value, with the keys that trip up careless code. */
export const anyJson: Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: "json" },
    fc.oneof(anyString, anyNumber, fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(anyString, tie("value")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value;

/** The keywords that the schemas are made of. */
interface Node {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly Node[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly minimum?: number;
}

const objectFor = ({ properties = {}, required = [] }: Node): Arbitrary<unknown> => {
  const fields = Object.entries(properties).map(([key, node]) => [key, valueFor(node)] as const);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [...required], noNullPrototype: true });
};

const valueFor = (node: Node): Arbitrary<unknown> => {
  if (node.anyOf !== undefined) {
    const isJson = node.anyOf.some((member) => member.type === "null");
    return isJson ? anyJson : fc.oneof(...node.anyOf.map(valueFor));
  }
  if (Object.hasOwn(node, "const")) return fc.constant(node.const);
  switch (node.type) {
    case "object":
      return objectFor(node);
    case "array":
      return fc.array(valueFor(node.items ?? {}), { maxLength: 3 });
    case "string":
      return anyString;
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer(node.minimum === undefined ? {} : { min: node.minimum });
    case "number":
      return anyNumber;
    default:
      return anyJson;
  }
};

const valueOf = (schema: TSchema): Arbitrary<unknown> => valueFor(schema as Node);

/** Any core record of a kind. */
export const recordOf = (kind: RecordKind): Arbitrary<Event> =>
  valueOf(recordSchemas[kind]).map((data) => ({
    type: "ExtensionRecorded",
    extension: "core",
    kind,
    v: RECORD_VERSION,
    data,
  }));

const isCore = (event: Event): boolean => event.type === "ExtensionRecorded" && event.extension === "core";

/** Any event of a type, with its content. */
export const eventOf = (type: EventType): Arbitrary<Event> =>
  valueOf(eventSchemas[type])
    .map((fields) => {
      const { redacted: _, ...rest } = fields as Record<string, unknown>;
      return { ...rest, type } as unknown as Event;
    })
    .filter((event) => !isCore(event));

export const anyEvent: Arbitrary<Event> = fc.oneof(...eventTypes.map(eventOf), ...recordKinds.map(recordOf));

export const itemOf = (type: ItemType): Arbitrary<NewItem> =>
  valueOf(newItemSchemas[type]).map((item) => item as NewItem);

export const anyItem: Arbitrary<NewItem> = fc.oneof(...itemTypes.map(itemOf));

/** What decides a whole pure run. Shrinks to the ordinary course of things: a conversation in which all goes well. */
export interface Course {
  readonly mode: Mode;
  readonly onInterrupt: "continue" | "pause";
  readonly numbers: readonly number[];
}

export const anyCourse: Arbitrary<Course> = fc.record({
  mode: fc.constantFrom("conversation", "run", "oneShot"),
  onInterrupt: fc.constantFrom("continue", "pause"),
  numbers: fc.array(fc.nat({ max: 5_039 }), { maxLength: 250, size: "max" }),
});

/** Runs a task along its course to its rest. `log` is one that perdure could have written. */
export const follow = (
  { mode, onInterrupt, numbers }: Course,
  options: Omit<PureRunOptions, "choices" | "log"> = {},
): PureRun =>
  runPurely({ ...options, choices: choicesOf(numbers), created: { mode, onInterrupt, ...options.created } });
