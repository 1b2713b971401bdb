// PORT: where tools run: files and processes of one task's workspace. An adapter keeps every path inside it.

/**
 * The closed set of refusals. All but `killed` and `failed` are definite: nothing was changed.
 *
 * - `outside`: the path, after its links are resolved, leaves the workspace.
 * - `not_found`, `is_directory`, `not_directory`, `exists`, `permission`: as the file system says.
 * - `changed`: the file is not what the caller expected (`ifDigest`).
 * - `too_large`: over the limit the caller gave.
 * - `not_started`: the process could not be started.
 * - `killed`: the process was stopped part-way (timeout or abort); its effects are unknown.
 * - `no_space`, `failed`: an I/O error; `writeFile` leaves the old file whole.
 */
export type ExecCode =
  | "outside"
  | "not_found"
  | "is_directory"
  | "not_directory"
  | "exists"
  | "permission"
  | "changed"
  | "too_large"
  | "not_started"
  | "killed"
  | "no_space"
  | "failed";

export class ExecError extends Error {
  override readonly name = "ExecError";
  readonly code: ExecCode;
  constructor(code: ExecCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

export interface FileInfo {
  /** Absolute, links resolved. */
  readonly path: string;
  readonly kind: "file" | "directory" | "other";
  /** Bytes. */
  readonly size: number;
  readonly mtimeMs: number;
}

export interface FileContent extends FileInfo {
  readonly bytes: Uint8Array;
  /** SHA-256 of the bytes, hex. */
  readonly digest: string;
}

export interface ProcessResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Output beyond `maxOutputBytes` was dropped. */
  readonly truncated: boolean;
}

export interface Exec {
  /** The workspace: absolute, links resolved. */
  readonly root: string;

  /** The absolute path, links resolved as far as it exists; relative ones from `root`. Codes: `outside`, `permission`. */
  resolve(path: string): Promise<string>;

  /** Codes: `outside`, `not_found`, `not_directory`, `permission`. */
  stat(path: string): Promise<FileInfo>;

  /**
   * The whole file. Codes: `outside`, `not_found`, `is_directory`, `not_directory`, `permission` (also for what is no
   * regular file), `too_large` (over `maxBytes`), `killed` (by the signal).
   */
  readFile(params: {
    readonly path: string;
    readonly maxBytes?: number;
    readonly signal?: AbortSignal;
  }): Promise<FileContent>;

  /**
   * Replaces or creates a file, whole or not at all, with its directories; keeps the mode of one that exists.
   * `ifDigest`: only if the file has this digest now (null: only if there is none). Returns what is there after.
   * Codes: `outside`, `is_directory`, `not_directory`, `permission`, `changed`, `no_space`, `failed`.
   */
  writeFile(params: {
    readonly path: string;
    readonly bytes: Uint8Array;
    readonly ifDigest?: string | null;
  }): Promise<FileInfo & { readonly digest: string }>;

  /**
   * Runs a program to its end, without a shell, in its own process group, which an abort or a timeout kills whole,
   * and of which nothing runs on after the program. An exit code other than 0 is a result, not an error.
   * Codes: `outside` (`cwd`), `not_started`, `killed`.
   */
  run(params: {
    readonly argv: readonly [string, ...string[]];
    readonly cwd?: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly stdin?: Uint8Array;
    readonly timeoutMs?: number;
    readonly maxOutputBytes?: number;
    readonly signal?: AbortSignal;
  }): Promise<ProcessResult>;
}
