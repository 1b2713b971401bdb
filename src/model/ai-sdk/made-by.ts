// A provider's own metadata beside a part of a reply (a signature, an encrypted thought), and the model that made it: no
// other model is sent it.

interface Made {
  readonly by: string;
  readonly metadata: unknown;
}

type Metadata = Readonly<Record<string, unknown>> | undefined;

/** As the log keeps it. */
export const madeBy = (by: string, metadata: Metadata): Made =>
  JSON.parse(JSON.stringify({ by, metadata: metadata ?? {} })) as Made;

/** The same, where there is something to keep. */
export const madeWith = (by: string, metadata: Metadata): Made | undefined =>
  metadata === undefined || Object.keys(metadata).length === 0 ? undefined : madeBy(by, metadata);

/** What was kept, if `by` made it. */
export const metadataFor = <T>(by: string, provider: unknown): T | undefined => {
  const made = provider as Partial<Made> | null | undefined;
  return made?.by === by ? (made.metadata as T) : undefined;
};
