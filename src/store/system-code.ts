// What the file system refuses, by its code.

/** Such as ENOENT; undefined for an error that is not the system's. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && "syscall" in error && "code" in error ? String(error.code) : undefined;
