import fc from "fast-check";
import { expect, test } from "vitest";
import { anyJson } from "../testing/arbitraries.ts";
import { isEqualJson } from "./equal.ts";

test("a value equals its copy, whatever the order of its keys", () => {
  const reversed = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(reversed);
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, entry]) => [key, reversed(entry)]),
    );
  };
  fc.assert(
    fc.property(anyJson, (value) => {
      expect(isEqualJson(value, JSON.parse(JSON.stringify(value)))).toBe(true);
      expect(isEqualJson(value, reversed(value))).toBe(true);
    }),
  );
});

test("values with different texts differ", () => {
  const sorted = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(sorted);
    return Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, entry]) => [key, sorted(entry)]);
  };
  const isSame = (a: unknown, b: unknown): boolean =>
    JSON.stringify([sorted(a), typeof a, Array.isArray(a)]) === JSON.stringify([sorted(b), typeof b, Array.isArray(b)]);
  fc.assert(
    fc.property(anyJson, anyJson, (a, b) => {
      if (!isSame(a, b)) expect(isEqualJson(a, b)).toBe(false);
    }),
    { numRuns: 500 },
  );
});

test("what JSON does not carry equals nothing that comes back", () => {
  const carried = (value: unknown): boolean => isEqualJson(JSON.parse(JSON.stringify(value)), value);
  expect(carried({ a: undefined })).toBe(false);
  expect(carried({ a: -0 })).toBe(false);
  expect(carried([Number.NaN])).toBe(false);
  expect(carried({ a: new Date(0) })).toBe(false);
  expect(carried(new Map([[1, 2]]))).toBe(false);
  expect(carried([undefined])).toBe(false);
  expect(carried({ a: [1, { b: null }] })).toBe(true);
  const point = new (class {
    readonly x = 1;
  })();
  expect(isEqualJson(point, { x: 1 })).toBe(false);
  expect(isEqualJson({ x: 1 }, point)).toBe(false);
  expect(isEqualJson({ a: undefined }, { b: 1 })).toBe(false);
});

test("a list is not an object, and a longer value is not a shorter one", () => {
  expect(isEqualJson([], {})).toBe(false);
  expect(isEqualJson({}, [])).toBe(false);
  expect(isEqualJson([], { length: 0 })).toBe(false);
  expect(isEqualJson({ length: 0 }, [])).toBe(false);
  expect(isEqualJson([1], [1, 2])).toBe(false);
  expect(isEqualJson({ a: 1 }, { a: 1, b: 2 })).toBe(false);
  expect(isEqualJson({ a: 1, b: 2 }, { a: 1, c: 2 })).toBe(false);
  expect(isEqualJson({ toString: 1 }, {})).toBe(false);
  expect(isEqualJson(null, {})).toBe(false);
});
