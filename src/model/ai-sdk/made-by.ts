// A provider's own metadata beside a part of a reply (a signature, an encrypted thought), and the model that made it: no
// other model is sent it.

interface Made {
  readonly by: string;
  readonly metadata: unknown;
}

/** As the log keeps it; undefined where there is nothing to keep. */
export const madeBy = (by: string, metadata: Readonly<Record<string, unknown>> | undefined): Made | undefined =>
  metadata === undefined || Object.keys(metadata).length === 0
    ? undefined
    : (JSON.parse(JSON.stringify({ by, metadata })) as Made);

/** What was kept, if `by` made it. */
export const metadataFor = <T>(by: string, provider: unknown): T | undefined => {
  const made = provider as Partial<Made> | null | undefined;
  return made?.by === by ? (made.metadata as T) : undefined;
};
