// A bundle as a file: a header, a line of JSON for each event, redaction, definition and file, and the SHA-256 of all that
// stands before the last line. docs/guides/export.md describes it.
import { Type, type Static, type TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { toHex, type Hasher } from "../core/envelope.ts";
import { StoreError, type Bundle, type Definition, type Envelope, type Redaction } from "../store/store.ts";

/** A bundle, and when it was made (store's clock of the source, ms). */
export interface DatedBundle {
  readonly bundle: Bundle;
  readonly exportedAt: number;
}

const hex = Type.String({ pattern: "^([0-9a-f]{2})*$" });
const whole = Type.Integer({ minimum: 0 });
const object = <P extends Record<string, TSchema>>(properties: P) =>
  Type.Object(properties, { additionalProperties: false });

const header = Compile(
  object({
    format: Type.Literal("perdure-task/1"),
    exportedAt: whole,
    // Of the row only what an import goes by is looked at.
    row: Type.Object({
      taskId: Type.String(),
      lastSeq: whole,
      head: hex,
      redactions: whole,
      revision: whole,
      inboxSeq: whole,
      inboxTaken: whole,
      status: Type.String(),
      requires: Type.Array(Type.String()),
    }),
  }),
);

const EventLine = object({
  seq: whole,
  at: whole,
  type: Type.String(),
  body: Type.String(),
  salt: Type.Union([hex, Type.Null()]),
  digest: hex,
  chain: hex,
});
const RedactionLine = object({ n: whole, seq: whole, digest: hex, chain: hex });
const DefinitionLine = object({ hash: Type.String(), text: Type.String() });
const FileLine = object({ name: Type.String(), mediaType: Type.String(), bytes: Type.String() });

const line = Compile(
  Type.Union([
    object({ event: EventLine }),
    object({ redaction: RedactionLine }),
    object({ definition: DefinitionLine }),
    object({ file: FileLine }),
  ]),
);
const lastLine = Compile(object({ sha256: hex }));

type Line =
  | { readonly event: Static<typeof EventLine> }
  | { readonly redaction: Static<typeof RedactionLine> }
  | { readonly definition: Static<typeof DefinitionLine> }
  | { readonly file: Static<typeof FileLine> };

const fromHex = (digits: string): Uint8Array => new Uint8Array(Buffer.from(digits, "hex"));

const eventLine = ({ salt, digest, chain, ...entry }: Envelope): Line => ({
  event: { ...entry, salt: salt === null ? null : toHex(salt), digest: toHex(digest), chain: toHex(chain) },
});

const redactionLine = ({ digest, chain, ...entry }: Redaction): Line => ({
  redaction: { ...entry, digest: toHex(digest), chain: toHex(chain) },
});

/** The lines of the file, each with its end. */
export const encodeBundle = (hasher: Hasher, { bundle, exportedAt }: DatedBundle): string[] => {
  const { format, row, entries, redactions, definitions, files } = bundle;
  const fileLine = ({ name, mediaType, bytes }: Bundle["files"][number]): Line => ({
    file: { name, mediaType, bytes: Buffer.from(bytes).toString("base64") },
  });
  const values = [
    { format, exportedAt, row },
    ...entries.map(eventLine),
    ...redactions.map(redactionLine),
    ...definitions.map((definition): Line => ({ definition })),
    ...files.map(fileLine),
  ];
  const lines = values.map((value) => `${JSON.stringify(value)}\n`);
  return [...lines, `${JSON.stringify({ sha256: toHex(hasher.sha256(...lines)) })}\n`];
};

const damaged = (name: string, what: string): StoreError =>
  new StoreError("damaged", `${name} is no bundle as it was exported: ${what}`);

const END = 10;

/** Where the last line begins. */
const lastLineAt = (bytes: Uint8Array): number => bytes.lastIndexOf(END, bytes.length - 2) + 1;

function* linesOf(bytes: Uint8Array): Generator<string, void, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(END, from);
    const to = end < 0 ? bytes.length : end;
    yield decoder.decode(bytes.subarray(from, to));
    from = to + 1;
  }
}

const parsed = (name: string, text: string, number: number): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StoreError("damaged", `${name}: line ${String(number)} is not JSON`, { cause });
  }
};

interface Parts {
  readonly entries: Envelope[];
  readonly redactions: Redaction[];
  readonly definitions: Definition[];
  readonly files: Bundle["files"][number][];
}

const addTo = (parts: Parts, value: Line): void => {
  if ("event" in value) {
    const { salt, digest, chain, ...entry } = value.event;
    const proof = { salt: salt === null ? null : fromHex(salt), digest: fromHex(digest), chain: fromHex(chain) };
    parts.entries.push({ ...entry, ...proof });
  } else if ("redaction" in value) {
    const { digest, chain, ...entry } = value.redaction;
    parts.redactions.push({ ...entry, digest: fromHex(digest), chain: fromHex(chain) });
  } else if ("definition" in value) {
    parts.definitions.push(value.definition);
  } else {
    const { bytes, ...file } = value.file;
    parts.files.push({ ...file, bytes: new Uint8Array(Buffer.from(bytes, "base64")) });
  }
};

/** The file as it was written, or nothing: `name` is what messages call it. The log itself is verified by whoever takes it
 * in. Codes: `damaged`. */
export const decodeBundle = (hasher: Hasher, bytes: Uint8Array, name: string): DatedBundle => {
  const end = lastLineAt(bytes);
  const [closing = ""] = linesOf(bytes.subarray(end));
  const last = parsed(name, closing, 0);
  if (!lastLine.Check(last)) throw damaged(name, "its last line is missing: it was cut, or is something else");
  const before = bytes.subarray(0, end);
  if (last.sha256 !== toHex(hasher.sha256(before))) throw damaged(name, "it was changed");
  const parts: Parts = { entries: [], redactions: [], definitions: [], files: [] };
  let first: unknown;
  let number = 0;
  for (const text of linesOf(before)) {
    number += 1;
    const value = parsed(name, text, number);
    if (number === 1) first = value;
    else if (line.Check(value)) addTo(parts, value as Line);
    else throw damaged(name, `line ${String(number)} is none that a bundle has`);
  }
  if (!header.Check(first)) throw damaged(name, "its first line is no header that is known here");
  const { format, exportedAt, row } = first;
  return { bundle: { format, row: row as unknown as Bundle["row"], ...parts }, exportedAt };
};
