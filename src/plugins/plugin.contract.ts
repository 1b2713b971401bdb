// The contract suite of the plugin port: what the kernel relies on in every plugin.
import { beforeEach, describe, expect, test } from "vitest";
import { isEqualJson } from "../core/equal.ts";
import { skeletonOf } from "../core/redact.ts";
import type { PluginRecord, Reducer } from "../core/state.ts";
import { definitionOf } from "./definition.ts";
import { checkNames } from "./names.ts";
import type { Plugin } from "./plugin.ts";
import { compileSchema } from "./schema.ts";

/** A record as a log may hold it. */
export interface RecordSample {
  readonly kind: string;
  readonly v: number;
  readonly data: unknown;
}

export interface PluginSubject {
  /** The plugin anew, as another process would make it. */
  create(): Plugin;
  /** In the order of a log: every kind, in every version that was ever written. */
  readonly records?: readonly RecordSample[];
}

const frozen = <T>(value: T): T => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) frozen(part);
  }
  return value;
};

const copy = (value: unknown): unknown => (JSON.parse(JSON.stringify({ value })) as { value?: unknown }).value;

/** Whether JSON carries the value whole. */
const survives = (value: unknown): boolean => isEqualJson(copy(value), value);

/** Runs the suite on a plugin. */
export function pluginContract(name: string, subject: PluginSubject): void {
  const { records: samples = [] } = subject;

  describe(`${name} keeps the plugin's contract`, () => {
    let plugin: Plugin;
    let records: PluginRecord[];

    beforeEach(() => {
      plugin = subject.create();
      records = samples.map((sample, index): PluginRecord =>
        frozen({ ...sample, extension: plugin.name, seq: index + 1, redacted: false }),
      );
    });

    /** What redaction leaves of a record. */
    const skeleton = (record: PluginRecord): PluginRecord => {
      const { extension, kind, v, data } = record;
      const keys = plugin.records?.[kind]?.skeleton ?? [];
      const event = skeletonOf({ type: "ExtensionRecorded", extension, kind, v, data, skeleton: [...keys] });
      if (event.type !== "ExtensionRecorded") throw new Error("a skeleton keeps its type");
      return frozen({ ...record, data: event.data, redacted: true });
    };

    const fold = (reducer: Reducer, log: readonly PluginRecord[], from: unknown = reducer.initial()): unknown =>
      log.reduce((state, record) => reducer.reduce(state, record), from);

    test("has a name, a version and arguments that its pin can hold", () => {
      checkNames([plugin]);
      expect(plugin.version).not.toBe("");
      expect(plugin.args === undefined || survives(plugin.args)).toBe(true);
    });

    test("is the same each time it is made, to the bytes of its tools' definitions", () => {
      const { tools = [], part, version, args } = subject.create();
      expect({ part, version, args }).toEqual({ part: plugin.part, version: plugin.version, args: plugin.args });
      expect(tools.map((tool) => definitionOf(tool).text)).toEqual(
        (plugin.tools ?? []).map((tool) => definitionOf(tool).text),
      );
    });

    test("says what each tool does, and takes only what its schema describes", async () => {
      for (const tool of plugin.tools ?? []) {
        expect(tool.description, tool.name).not.toBe("");
        const checked = await compileSchema(tool.inputSchema).validate("not an object");
        expect(checked, tool.name).toMatchObject({ ok: false });
        if (tool.outputSchema !== undefined) compileSchema(tool.outputSchema);
      }
    });

    test("declares the version of each kind that it records, and shows a sample of each one up to that", () => {
      const shown = new Set(samples.map(({ kind, v }) => `${kind} v${String(v)}`));
      const declared = Object.entries(plugin.records ?? {}).flatMap(([kind, { v }]) =>
        Array.from({ length: v }, (_, index) => `${kind} v${String(index + 1)}`),
      );
      expect([...shown].sort()).toEqual(declared.sort());
    });

    test("folds the same records to the same state, and changes none of them", () => {
      const { reducer } = plugin;
      if (reducer === undefined) return;
      const state = fold(reducer, records);
      expect(fold(reducer, records)).toEqual(state);
      const other = subject.create().reducer;
      expect(other && fold(other, records)).toEqual(state);
    });

    test("has a state that a snapshot can hold, and that folds on from one taken anywhere", () => {
      const { reducer } = plugin;
      if (reducer === undefined) return;
      const state = fold(reducer, records);
      for (let cut = 0; cut <= records.length; cut += 1) {
        const part = fold(reducer, records.slice(0, cut));
        expect(survives(part)).toBe(true);
        expect(fold(reducer, records.slice(cut), copy(part))).toEqual(state);
      }
    });

    test("folds a log of which any record, or every one, lost its content", () => {
      const { reducer } = plugin;
      if (reducer === undefined) return;
      const skeletons = records.map(skeleton);
      for (const index of records.keys()) {
        const log = records.map((record, at) => (at === index ? (skeletons[at] ?? record) : record));
        expect(survives(fold(reducer, log))).toBe(true);
      }
      expect(survives(fold(reducer, skeletons))).toBe(true);
    });

    test("sees that words were erased, and folds on", () => {
      const { reducer } = plugin;
      if (reducer === undefined) return;
      const data = { seqs: [4], reason: "blocked" };
      const erased = { extension: "core", kind: "erased", v: 1, data, seq: 9, redacted: false };
      const log = [...records, frozen(erased)];
      expect(survives(fold(reducer, log))).toBe(true);
    });
  });
}
