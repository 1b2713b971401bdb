// Models by name for the tasks of one process. A name that nobody opened before is opened by its first call: a task whose
// model is retired, or not configured here, must stop that task and not its worker.
import { ModelError, type Model } from "../model/model.ts";

/** Opens the model of that name; its error's message is for a person. */
export type OpenModel = (name: string) => Promise<Model>;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** As a provider answers that has no such model: the task pauses until it is given another. */
const NOT_FOUND = 404;

/** Stands for a model until it is open. How much context it takes is not known before. */
const opening = (name: string, open: () => Promise<Model>): Model => ({
  name,
  contextTokens: null,
  async *stream(request, options) {
    const model = await open().catch((cause: unknown) => {
      throw new ModelError("bad_request", messageOf(cause), { cause, status: NOT_FOUND });
    });
    yield* model.stream(request, options);
  },
});

export interface ModelNames {
  /** Opens it now. Throws what opening throws. */
  open(name: string): Promise<Model>;
  /** The open model, or one that opens itself when it is first called. */
  get(name: string): Model;
}

export const createModelNames = (openModel: OpenModel): ModelNames => {
  const models = new Map<string, Model>();
  const open = async (name: string): Promise<Model> => {
    const known = models.get(name);
    if (known !== undefined) return known;
    const model = await openModel(name);
    models.set(name, model);
    return model;
  };
  return { open, get: (name) => models.get(name) ?? opening(name, () => open(name)) };
};
