// The linter holds the walls between folders and a few habits; the compiler and Prettier hold the rest.
// Every rule has a reason. test/walls.test.ts proves each wall of the table by breaking it.
import { matchesGlob, posix, relative, resolve, sep } from "node:path";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export const limits = { linesPerFile: 300, linesPerFunction: 60 };

const ports = ["store/store.ts", "model/model.ts", "exec/exec.ts", "plugins/plugin.ts", "access/access.ts"];
const typebox = ["typebox"];
const schemas = [...typebox, "@standard-schema/spec"];
const plain = ["typebox", "node:"];
const any = ["*"];

/**
 * The import table: which files of src may import what. A file obeys the last row that matches it. A row that ends in
 * "/**" may always import its own folder's tree; `may` names the rest of src, `packages` everything that is not a path ("node:" is
 * Node's own).
 */
export const walls = [
  { files: "core/**", may: [], packages: typebox },

  { files: "store/*", may: ["store/*", "core/**"], packages: plain },
  { files: "model/*", may: ["model/*", "core/**"], packages: plain },
  { files: "exec/*", may: ["exec/*", "core/**"], packages: plain },
  { files: "access/*", may: ["access/*", "core/**"], packages: plain },
  { files: "plugins/*", may: ["plugins/*", "core/**", "exec/exec.ts"], packages: [...schemas, "node:"] },

  { files: "store/{store,kept}.ts", may: ["core/**", "store/kept.ts"], packages: typebox },
  { files: "model/model.ts", may: ["core/**"], packages: typebox },
  { files: "exec/exec.ts", may: ["core/**"], packages: typebox },
  { files: "access/access.ts", may: ["core/**"], packages: typebox },
  { files: "plugins/plugin.ts", may: ["core/**", "exec/exec.ts"], packages: schemas },
  {
    files: "{store,model,exec,plugins,access}/*.contract.ts",
    may: ["core/**", "testing/**", ...ports, "store/*", "plugins/*"],
    packages: any,
  },

  { files: "store/*/**", may: ["store/*", "core/**"], packages: any },
  { files: "model/*/**", may: ["model/*", "core/**"], packages: any },
  { files: "exec/*/**", may: ["exec/*", "core/**"], packages: any },
  { files: "access/*/**", may: ["access/*", "core/**"], packages: any },
  // A plugin that declares that it folds another gets its own row below this one, with the other's folder in `may`.
  { files: "plugins/*/**", may: ["plugins/plugin.ts", "core/**", "exec/exec.ts"], packages: any },

  { files: "runner/**", may: ["core/**", ...ports], packages: plain },
  { files: "worker/**", may: ["runner/**", "core/**", ...ports], packages: plain },
  { files: "client/**", may: ["core/**", "store/store.ts", "access/access.ts"], packages: plain },
  { files: "http/**", may: ["client/**", "core/**"], packages: any },
  { files: "config/**", may: ["core/**", ...ports], packages: any },

  {
    files: "library/**",
    may: ["core/**", ...ports.map((port) => port.replace(/[^/]*$/, "**")), "{client,config,runner,worker}/**", "*.ts"],
    packages: any,
  },
  { files: "*.ts", may: ["**"], packages: any },
  { files: "cli/**", may: ["**"], packages: any },
  { files: "testing/**", may: ["**"], packages: any },
  { files: "**/*.test.ts", may: ["**"], packages: any },
];

const src = resolve(import.meta.dirname, "src");

/** Why `file` (a path below src) may not import `specifier`, or undefined when it may. */
export function brokenWall(file, specifier) {
  const row = walls.findLast((candidate) => matchesGlob(file, candidate.files));
  if (row === undefined) return `src/${file} has no row in the import table of eslint.config.js; add one.`;
  const isPath = specifier.startsWith(".");
  const target = isPath ? posix.join(posix.dirname(file), specifier) : specifier;
  const ownTree = row.files.endsWith("/**")
    ? [[...file.split("/").slice(0, row.files.split("/").length - 1), "**"].join("/")]
    : [];
  const allowed = isPath ? [...ownTree, ...row.may] : row.packages;
  const open = isPath ? allowed.includes("**") : allowed.includes("*");
  const matches = (entry) =>
    isPath ? matchesGlob(target, entry) : `${target}/`.startsWith(entry.endsWith(":") ? entry : `${entry}/`);
  if (open || allowed.some(matches)) return undefined;
  return `${row.files} may not import ${target}; it may import ${allowed.join(", ") || "no package"} (STYLE: the import table).`;
}

const wallsRule = {
  meta: { type: "problem", schema: [] },
  create(context) {
    const file = relative(src, context.filename).split(sep).join("/");
    const check = (node) => {
      const source = node.source?.type === "TSLiteralType" ? node.source.literal : node.source;
      if (typeof source?.value !== "string") return;
      const message = brokenWall(file, source.value);
      if (message !== undefined) context.report({ node: source, message });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      TSImportType: check,
    };
  },
};

const testFiles = ["**/*.test.ts", "**/*.contract.ts", "**/*.long.ts", "test/**"];
const limitOptions = { skipBlankLines: true, skipComments: true };
const ambient = "The core is pure: times, ids and hashes are passed in (STYLE: the tree).";
const locale = "The core gives the same bytes on every machine; this depends on the machine's locale.";

export default defineConfig(
  { ignores: ["**/dist/", "coverage/", ".perdure/"] },
  {
    files: ["**/*.{js,ts,tsx}"],
    plugins: { "@typescript-eslint": tseslint.plugin, perdure: { rules: { walls: wallsRule } } },
    languageOptions: { parser: tseslint.parser },
    rules: {
      // A loose equality converts silently; `== null` is the one use that says what it means.
      eqeqeq: ["error", "always", { null: "ignore" }],
      // A `let` promises a change to the reader.
      "prefer-const": "error",
      // Small files and functions are how this stays readable (STYLE, habit 5).
      "max-lines": ["error", { max: limits.linesPerFile, ...limitOptions }],
      "max-lines-per-function": ["error", { max: limits.linesPerFunction, ...limitOptions }],
    },
  },
  {
    files: ["**/*.{ts,tsx}"],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // A promise that nobody waits for is an append that may not have happened and an error that nobody sees.
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/await-thenable": "error",
      // A promise returned from inside `try` escapes its `catch` and its `finally`.
      "@typescript-eslint/return-await": ["error", "error-handling-correctness-only"],
      // Type stripping drops only what is marked as a type, and a wall should show what is needed at run time.
      "@typescript-eslint/consistent-type-imports": "error",
      // A new event, step or code must be met at every switch over it.
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      // `any` (mostly from JSON.parse) switches the compiler off; parse into `unknown` and check.
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-unsafe-argument": "error",
      "@typescript-eslint/no-unsafe-assignment": "error",
      "@typescript-eslint/no-unsafe-call": "error",
      "@typescript-eslint/no-unsafe-member-access": "error",
      "@typescript-eslint/no-unsafe-return": "error",
      // What is thrown has a stack and a cause.
      "@typescript-eslint/only-throw-error": "error",
    },
  },
  {
    files: ["src/**/*.ts"],
    rules: {
      "perdure/walls": "error",
      // One name for one thing, and a search finds it.
      "no-restricted-syntax": [
        "error",
        { selector: "ExportDefaultDeclaration", message: "Named exports only (STYLE: names)." },
      ],
      // A library does not print; a person meets messages through the CLI.
      "no-console": "error",
    },
  },
  {
    files: ["src/core/**/*.ts"],
    ignores: testFiles,
    rules: {
      "no-restricted-globals": [
        "error",
        ...["Date", "performance"].map((name) => ({ name, message: ambient })),
        { name: "Intl", message: locale },
      ],
      "no-restricted-properties": [
        "error",
        { object: "Math", property: "random", message: ambient },
        ...["Date", "performance"].map((property) => ({ object: "globalThis", property, message: ambient })),
        ...["localeCompare", "toLocaleString", "toLocaleLowerCase", "toLocaleUpperCase"].map((property) => ({
          property,
          message: locale,
        })),
      ],
    },
  },
  { files: ["src/cli/**/*.ts"], rules: { "no-console": "off" } },
  {
    files: testFiles,
    rules: {
      // A suite is one long function of short tests.
      "max-lines": "off",
      "max-lines-per-function": "off",
      // Matchers such as expect.any() are typed `any`.
      "@typescript-eslint/no-unsafe-assignment": "off",
      // No mocking: the fakes are the memory, scripted and local adapters, under contract themselves (STYLE: tests).
      "no-restricted-imports": [
        "error",
        { paths: [{ name: "vitest", importNames: ["vi"], message: "No mocks; fakes are adapters (STYLE: tests)." }] },
      ],
    },
  },
  {
    // An app sees only what the package exports, as any outside user does.
    files: ["apps/**/*.{ts,tsx}"],
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: [{ regex: "\\.\\./(src|dist)/", message: "Import what the package exports: perdure." }] },
      ],
    },
  },
);
