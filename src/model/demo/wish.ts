// What a person wants, as far as a few patterns can tell.

export type Wish =
  | { readonly kind: "read"; readonly path: string }
  | { readonly kind: "list"; readonly pattern: string }
  | { readonly kind: "write"; readonly path: string; readonly content: string }
  | { readonly kind: "greeting" | "other" };

const WRITE = /^(?:please\s+)?(?:write|save|put)\s+(.+?)\s+(?:to|into|in)\s+(?:the\s+)?(?:file\s+)?(\S+)$/is;
const LIST = /\b(?:list|which|what)\b.*\bfiles\b|^ls\b/i;
const READ = /\b(?:read|open|show|print|cat)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?(?!it\b|that\b)(\S+)/i;
const AGAIN = /\b(?:again|it|its|that file|the file|how many lines)\b/i;
const GREETING =
  /^(?:hi|hello|hey|good (?:morning|day|evening))\b|\b(?:what can you do|who are you|what are you|help)\b/i;

/** A word without the quotes and the punctuation around it. */
const bare = (word: string): string => word.replace(/^["'`(]+/, "").replace(/["'`)?!,;:.]+$/, "");

const isFile = (word: string): boolean =>
  (word.includes("/") || /[^.]\.[a-z]\w*$/i.test(word)) && !word.includes("://") && !word.includes("*");

/** What `text` asks for. `known` is the file that was spoken of last: what "it" means. */
export const wishOf = (text: string, known: string | undefined): Wish => {
  const words = text.trim().split(/\s+/).map(bare);
  const write = WRITE.exec(text.trim());
  if (write !== null) {
    const [, content = "", path = ""] = write;
    return { kind: "write", path: bare(path), content: content.replace(/^(["'`])(.*)\1$/s, "$2") };
  }
  if (LIST.test(text)) return { kind: "list", pattern: words.find((word) => word.includes("*")) ?? "**/*" };
  const file = words.find(isFile);
  if (file !== undefined) return { kind: "read", path: file };
  if (known !== undefined && AGAIN.test(text)) return { kind: "read", path: known };
  const named = bare(READ.exec(text)?.[1] ?? "");
  if (named !== "") return { kind: "read", path: named };
  return { kind: GREETING.test(text.trim()) ? "greeting" : "other" };
};
