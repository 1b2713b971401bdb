// Events to JSON text and back. Text is what digests cover; stores keep its UTF-8 bytes. Nothing else reads bodies.
import { Compile, type Validator } from "typebox/compile";
import type { TSchema } from "typebox";
import { diagnose } from "./diagnose.ts";
import { eventSchemas, eventTypes, type Event, type EventType } from "./events.ts";
import { itemTypes, newItemSchemas, type ItemType, type NewItem } from "./items.ts";
import {
  RECORD_VERSION,
  isRecordKind,
  recordKinds,
  recordSchemas,
  redactedRecordSchemas,
  type RecordKind,
} from "./records.ts";

/** Why a body could not be read. `newer_version`: leave it alone. `undecodable`: whole, but not of any known form. */
export type CodecCode = "newer_version" | "undecodable";

export class CodecError extends Error {
  override readonly name = "CodecError";
  readonly code: CodecCode;
  constructor(code: CodecCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

const compileAll = <K extends string>(names: readonly K[], schemas: Record<K, TSchema>): Record<K, Validator> =>
  Object.fromEntries(names.map((name) => [name, Compile(schemas[name])])) as unknown as Record<K, Validator>;

const events = compileAll<EventType>(eventTypes, eventSchemas);
const records = compileAll<RecordKind>(recordKinds, recordSchemas);
const redactedRecords = compileAll<RecordKind>(recordKinds, redactedRecordSchemas);
const items = compileAll<ItemType>(itemTypes, newItemSchemas);

const check = (validator: Validator, value: unknown, what: string): void => {
  if (validator.Check(value)) return;
  const fault = diagnose(validator.Type(), value) ?? { newer: false, path: "", what: "does not fit its schema" };
  const where = `${what}${fault.path}: ${fault.what}`;
  if (fault.newer) throw new CodecError("newer_version", `${where}: written by a newer version`);
  throw new CodecError("undecodable", where);
};

const checkRecord = (event: Event): void => {
  if (event.type !== "ExtensionRecorded" || event.extension !== "core") return;
  if (!isRecordKind(event.kind) || event.v > RECORD_VERSION) {
    throw new CodecError("newer_version", `core/${event.kind} v${String(event.v)} is written by a newer version`);
  }
  const validators = event.redacted === true ? redactedRecords : records;
  check(validators[event.kind], event.data, `core/${event.kind}`);
};

const write = (value: unknown, what: string): string => {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new CodecError("undecodable", `${what}: cannot be written as JSON`, { cause });
  }
};

/**
 * The event's JSON text, without its type. Lone surrogates and NUL are escaped, so the text is valid UTF-8. Throws
 * CodecError for what could not be read back.
 */
export const encodeEvent = (event: Event): string => {
  const { type, ...fields } = event;
  check(events[type], fields, type);
  checkRecord(event);
  return write(fields, type);
};

const parse = (text: string, what: string): Record<string, unknown> => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CodecError("undecodable", `${what}: not JSON`, { cause });
  }
  if (typeof value !== "object" || value === null) throw new CodecError("undecodable", `${what}: not an object`);
  return value as Record<string, unknown>;
};

/** Reads one event. Throws CodecError `newer_version` or `undecodable`. */
export const decodeEvent = (type: string, text: string): Event => {
  if (!Object.hasOwn(events, type)) throw new CodecError("newer_version", `event type ${type} is not known here`);
  const fields = parse(text, type);
  check(events[type as EventType], fields, type);
  fields["type"] = type;
  const event = fields as unknown as Event;
  checkRecord(event);
  return event;
};

export const encodeItem = (item: NewItem): string => {
  const validator = Object.hasOwn(items, item.type) ? items[item.type] : undefined;
  if (validator === undefined) throw new CodecError("undecodable", `no item type ${String(item.type)}`);
  check(validator, item, item.type);
  return write(item, item.type);
};

export const decodeItem = (text: string): NewItem => {
  const value = parse(text, "inbox item");
  const type = value["type"];
  if (typeof type !== "string") throw new CodecError("undecodable", "inbox item: has no type");
  if (!Object.hasOwn(items, type)) throw new CodecError("newer_version", `item type ${type} is not known here`);
  check(items[type as ItemType], value, type);
  return value as unknown as NewItem;
};
