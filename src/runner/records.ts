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

/** The event of a plugin's record. Throws if the plugin does not declare the kind. */
export const pluginRecord = (plugin: Plugin, record: NewRecord): EventOf<"ExtensionRecorded"> => {
  const declared = plugin.records?.[record.kind];
  if (declared === undefined) {
    throw new Error(`plugin ${plugin.name} records ${record.kind}, which it does not declare in records`);
  }
  const { skeleton } = declared;
  return {
    type: "ExtensionRecorded",
    extension: plugin.name,
    kind: record.kind,
    v: declared.v,
    data: record.data ?? null,
    ...(record.message === undefined ? {} : { message: record.message }),
    ...(record.sources === undefined ? {} : { sources: [...record.sources] }),
    ...(skeleton === undefined || skeleton.length === 0 ? {} : { skeleton: [...skeleton] }),
  };
};
