// The file of a backup: a line that says what it is, then frames (a byte for the kind, four for the length, the payload), of
// which the last is the SHA-256 of all before it. Written and read in a stream, so its size does not matter.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { Type, type Static } from "typebox";
import { Check } from "typebox/value";
import { StoreError } from "../store.ts";

const MAGIC = Buffer.from("perdure backup of Postgres 1\n");
const SQLITE = Buffer.from("SQLite format 3\0");

const [HEADER, TABLE, ROWS, END] = [1, 2, 3, 4];
const HEAD = 5;
const DIGEST = 32;
const TAIL = HEAD + DIGEST;

const Header = Type.Object({
  /** The version of the schema. */
  schema: Type.Integer({ minimum: 1 }),
  epoch: Type.Integer(),
  /** By the database's clock (ms): all that was committed before is in it. */
  backupAt: Type.Integer(),
  /** The cluster's; null where it was not to be had. */
  systemId: Type.Union([Type.String(), Type.Null()]),
  /** How many the events were in; null, or not there, for one table. */
  partitions: Type.Optional(Type.Union([Type.Integer({ minimum: 2, maximum: 256 }), Type.Null()])),
});
export type Header = Static<typeof Header>;

/** A table, whose rows follow in the binary form of COPY. */
const Table = Type.Object({ name: Type.String(), columns: Type.Array(Type.String()) });
export type Table = Static<typeof Table>;

const headOf = (kind: number, length: number): Buffer => {
  const head = Buffer.alloc(HEAD);
  head.writeUInt8(kind);
  head.writeUInt32BE(length, 1);
  return head;
};

export class BackupWriter {
  readonly #file: FileHandle;
  readonly #hash = createHash("sha256");

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Begins a file, which must not be there and which only its owner may read. */
  static async begin(path: string, header: Header): Promise<BackupWriter> {
    const writer = new BackupWriter(await open(path, "wx", 0o600));
    await writer.#add([MAGIC]);
    await writer.#frame(HEADER, Buffer.from(JSON.stringify(header)));
    return writer;
  }

  async #add(parts: readonly Buffer[]): Promise<void> {
    for (const part of parts) this.#hash.update(part);
    await this.#file.writeFile(Buffer.concat(parts));
  }

  #frame(kind: number, payload: Buffer): Promise<void> {
    return this.#add([headOf(kind, payload.length), payload]);
  }

  table(table: Table): Promise<void> {
    return this.#frame(TABLE, Buffer.from(JSON.stringify(table)));
  }

  rows(chunk: Buffer): Promise<void> {
    return this.#frame(ROWS, chunk);
  }

  async end(): Promise<void> {
    await this.#add([headOf(END, DIGEST)]);
    await this.#file.writeFile(this.#hash.digest());
  }

  /** Repeatable. */
  close(): Promise<void> {
    return this.#file.close();
  }
}

const damaged = (path: string, what: string): StoreError => new StoreError("damaged", `${path} ${what}`);

/** Refuses (`damaged`) a file that is none, was cut, or was changed. */
const requireWhole = async (path: string, file: FileHandle): Promise<number> => {
  const { size } = await file.stat();
  const start = Buffer.alloc(MAGIC.length);
  await file.read(start, 0, start.length, 0);
  if (start.subarray(0, SQLITE.length).equals(SQLITE)) throw damaged(path, "is a database, or a backup, of SQLite");
  if (!start.equals(MAGIC)) throw damaged(path, "is not a backup of a perdure database in Postgres");
  const tail = Buffer.alloc(TAIL);
  const end = size - DIGEST;
  if (end - HEAD < MAGIC.length) throw damaged(path, "is damaged: it was cut");
  await file.read(tail, 0, TAIL, size - TAIL);
  if (!tail.subarray(0, HEAD).equals(headOf(END, DIGEST)))
    throw damaged(path, "is damaged: it does not end as it must");
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { end: end - 1 })) hash.update(chunk as Buffer);
  if (!hash.digest().equals(tail.subarray(HEAD))) throw damaged(path, "is damaged: its checksum is another");
  return size - TAIL;
};

export class BackupReader {
  readonly path: string;
  readonly #file: FileHandle;
  /** Where the last frame begins. */
  readonly #end: number;
  #at = MAGIC.length;

  private constructor(path: string, file: FileHandle, end: number) {
    this.path = path;
    this.#file = file;
    this.#end = end;
  }

  /** Opens a backup that is whole. Codes: `not_found`, `damaged`. */
  static async open(path: string): Promise<BackupReader> {
    const file = await open(path, "r").catch((cause: unknown) => {
      throw new StoreError("not_found", `there is no backup at ${path}`, { cause });
    });
    try {
      return new BackupReader(path, file, await requireWhole(path, file));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async #read(length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    const { bytesRead } = await this.#file.read(bytes, 0, length, this.#at);
    if (bytesRead < length || this.#at + length > this.#end) throw damaged(this.path, "is damaged: it was cut");
    this.#at += length;
    return bytes;
  }

  /** The next frame if it is of this kind; what is of another stays. */
  async #next(kind: number): Promise<Buffer | undefined> {
    if (this.#at === this.#end) return undefined;
    const before = this.#at;
    const head = await this.#read(HEAD);
    if (head.readUInt8() !== kind) {
      this.#at = before;
      return undefined;
    }
    return this.#read(head.readUInt32BE(1));
  }

  /** From the start again. Codes: `damaged`. */
  async header(): Promise<Header> {
    this.#at = MAGIC.length;
    const value: unknown = JSON.parse((await this.#next(HEADER))?.toString() ?? "null");
    if (!Check(Header, value)) throw damaged(this.path, "has a header that this perdure does not know");
    return value;
  }

  /** The next table, after whose rows the one after it comes; undefined at the end. Codes: `damaged`. */
  async table(): Promise<Table | undefined> {
    if (this.#at === this.#end) return undefined;
    const value: unknown = JSON.parse((await this.#next(TABLE))?.toString() ?? "null");
    if (!Check(Table, value)) throw damaged(this.path, "holds something that this perdure does not know");
    return value;
  }

  async *rows(): AsyncGenerator<Buffer> {
    for (let chunk = await this.#next(ROWS); chunk !== undefined; chunk = await this.#next(ROWS)) yield chunk;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
