// Events under ExtensionRecorded: the kernel's own, and those of plugins with the skeleton keys they declare.
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

/** The record as the log can hold it: JSON. Throws if it is not, or if the plugin does not declare the kind. */
export const plainRecord = (plugin: Plugin, record: NewRecord): NewRecord => {
  if (plugin.records?.[record.kind] === undefined) {
    throw new Error(`plugin ${plugin.name} records ${record.kind}, which it does not declare in records`);
  }
  return JSON.parse(JSON.stringify({ ...record, data: record.data ?? null })) as NewRecord;
};

/** The event of a plugin's record. Throws if the plugin does not declare the kind. */
export const pluginRecord = (plugin: Plugin, given: NewRecord): EventOf<"ExtensionRecorded"> => {
  const record = plainRecord(plugin, given);
  const { v = 1, skeleton } = plugin.records?.[record.kind] ?? {};
  return {
    type: "ExtensionRecorded",
    extension: plugin.name,
    kind: record.kind,
    v,
    data: record.data,
    ...(record.message === undefined ? {} : { message: record.message }),
    ...(record.sources === undefined ? {} : { sources: [...record.sources] }),
    ...(skeleton === undefined || skeleton.length === 0 ? {} : { skeleton: [...skeleton] }),
  };
};
