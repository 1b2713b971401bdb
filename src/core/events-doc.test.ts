// docs/events.md says what every field of every event is. Here it is held against the schemas, name by name.
import { readFileSync } from "node:fs";
import type { TSchema } from "typebox";
import { describe, expect, test } from "vitest";
import { Source, Tokens, Usage, Wait, eventContent, eventSchemas, eventTypes } from "./events.ts";
import { Origin, Settings, SettingsChange, itemContent, itemTypes, newItemSchemas } from "./items.ts";
import { CallPart, Content, FilePart, Json, ReasoningPart, Reply, ReplyTextPart, TextPart } from "./messages.ts";
import { Fragment, ModelFailure, Pin, ToolEntry, recordKinds, recordSchemas, recordSkeleton } from "./records.ts";

/** The shapes that have a section of their own, by name. */
const shapes: Readonly<Record<string, TSchema>> = {
  Source,
  Usage,
  Tokens,
  Wait,
  Origin,
  Settings,
  Content,
  TextPart,
  FilePart,
  Reply,
  ReplyTextPart,
  ReasoningPart,
  CallPart,
  Pin,
  ToolEntry,
  Fragment,
  ModelFailure,
};

interface Node {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly Node[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly content?: boolean;
}

/** Named in the document, and explained there in a sentence. */
const simple = { Json, SettingsChange };
const named = new Map(Object.entries({ ...shapes, ...simple }).map(([name, schema]) => [JSON.stringify(schema), name]));

/** A schema as the document writes it. */
const typeText = (node: Node): string => {
  const { content: _, ...plain } = node;
  const name = named.get(JSON.stringify(plain));
  if (name !== undefined) return name;
  if (node.anyOf !== undefined) {
    const items = node.anyOf.length === itemTypes.length && node.anyOf.every((member) => member.properties?.["key"]);
    return items ? "Item" : node.anyOf.map(typeText).join(" or ");
  }
  if (Object.hasOwn(node, "const")) return JSON.stringify(node.const);
  if (node.type === "array") return `list of ${typeText(node.items ?? {})}`;
  if (node.type === "object")
    return `{ ${fieldsOf(node)
      .map(([field, type]) => `${field}: ${type}`)
      .join(", ")} }`;
  return node.type ?? "Json";
};

/** Fields with their types; `?` marks what may be absent. */
const fieldsOf = ({ properties = {}, required = [] }: Node): [string, string][] =>
  Object.entries(properties).map(([name, node]) => [required.includes(name) ? name : `${name}?`, typeText(node)]);

const isSkeleton = new Set(["type", "redacted?"]);
const rowsOf = (schema: TSchema, content: readonly string[]): string[] =>
  fieldsOf(schema as Node)
    .filter(([field]) => !isSkeleton.has(field))
    .map(
      ([field, type]) => `${field} | ${type} | ${content.includes(field.replace("?", "")) ? "content" : "skeleton"}`,
    );

const document = readFileSync(new URL("../../docs/events.md", import.meta.url), "utf8");

/** The first three columns of each section's table, and whether every row says what its field means. */
const sections = new Map<string, { rows: string[]; explained: boolean }>();
for (const section of document.split(/^#{2,3} /m).slice(1)) {
  const [heading = "", ...lines] = section.split("\n");
  const rows = lines
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("`", "").replaceAll("\\|", "|")));
  sections.set(heading.replaceAll("`", ""), {
    rows: rows.map(([, field, type, kind]) => `${String(field)} | ${String(type)} | ${String(kind)}`),
    explained: rows.every((cells) => (cells[4] ?? "").length > 3),
  });
}

const check = (heading: string, wanted: readonly string[]): void => {
  const section = sections.get(heading);
  expect(section?.rows, heading).toEqual(wanted);
  expect(section?.explained, heading).toBe(true);
};

describe("docs/events.md", () => {
  for (const type of eventTypes) {
    test(`knows every field of ${type}`, () => {
      check(type, rowsOf(eventSchemas[type], eventContent[type]));
    });
  }

  for (const kind of recordKinds) {
    test(`knows every field of core/${kind}`, () => {
      const kept = recordSkeleton(kind);
      const names = Object.keys((recordSchemas[kind] as Node).properties ?? {});
      check(
        `core/${kind}`,
        rowsOf(
          recordSchemas[kind],
          names.filter((name) => !kept.includes(name)),
        ),
      );
    });
  }

  for (const type of itemTypes) {
    test(`knows every field of the item ${type}`, () => {
      check(`Item ${type}`, rowsOf(newItemSchemas[type], itemContent[type] ?? []));
    });
  }

  test("has a section for every shape it names, and no other", () => {
    const wanted = [
      ...eventTypes,
      ...recordKinds.map((kind) => `core/${kind}`),
      ...itemTypes.map((type) => `Item ${type}`),
      ...Object.keys(shapes),
    ];
    const prose = [
      "Content and skeleton",
      "Reading a log",
      "Envelope",
      "The kernel's records",
      "Inbox items",
      "Shapes",
      ...Object.keys(simple),
    ];
    expect([...sections.keys()].filter((heading) => !prose.includes(heading)).sort()).toEqual([...wanted].sort());
  });

  for (const [name, schema] of Object.entries(shapes)) {
    test(`knows the shape ${name}`, () => {
      const node = schema as Node;
      const section = document.split(/^#{2,3} /m).find((part) => part.startsWith(`\`${name}\`\n`)) ?? "";
      if (node.type === "object") {
        const rows = section.split("\n").filter((line) => line.startsWith("| `"));
        const cells = rows.map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("`", "")));
        expect(cells.map(([, field, type]) => [field, type])).toEqual(
          fieldsOf(node).filter(([field]) => field !== "type"),
        );
        return;
      }
      const parts = node.anyOf ?? [node.items ?? {}];
      for (const part of parts.flatMap((each) => each.anyOf ?? [each])) {
        const { properties, ...rest } = part;
        const text = properties === undefined ? typeText(rest) : typeText(part);
        expect(section.replaceAll("`", "")).toContain(text);
      }
    });
  }
});
