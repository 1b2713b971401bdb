// Events under ExtensionRecorded: the kernel's own, and those of plugins with the skeleton keys they declare.
import { encodeEvent } from "../core/codec.ts";
import type { EventOf } from "../core/events.ts";
import { RECORD_VERSION, type CoreRecord, type RecordKind } from "../core/records.ts";
import type { NewRecord, Plugin } from "../plugins/plugin.ts";

export const coreRecord = <K extends RecordKind>(kind: K, data: CoreRecord<K>): EventOf<"ExtensionRecorded"> => ({
  type: "ExtensionRecorded",
  extension: "core",
  kind,
  v: RECORD_VERSION,
  data,
});

/** The event of a plugin's record. Throws if the plugin does not declare the kind, or if the log cannot hold it. */
export const pluginRecord = (plugin: Plugin, given: NewRecord): EventOf<"ExtensionRecorded"> => {
  const { name, records } = plugin;
  const declared = records?.[given.kind];
  if (declared === undefined) {
    throw new Error(`plugin ${name} records ${given.kind}, which it does not declare in records`);
  }
  const { v, skeleton = [] } = declared;
  const plain = JSON.parse(JSON.stringify({ ...given, data: given.data ?? null })) as NewRecord;
  const { kind, data, message, sources } = plain;
  const event: EventOf<"ExtensionRecorded"> = {
    type: "ExtensionRecorded",
    extension: name,
    kind,
    v,
    data,
    ...(message === undefined ? {} : { message }),
    ...(sources === undefined ? {} : { sources: [...sources] }),
    ...(skeleton.length === 0 ? {} : { skeleton: [...skeleton] }),
  };
  encodeEvent(event);
  return event;
};
