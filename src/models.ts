// Models by name: those of the configuration, `scripted:FILE`, `demo`, and those of providers, such as `anthropic/…`.
import { resolve } from "node:path";
import type { Config } from "./config/config.ts";
import { aiSdkNames, isAiSdkName, openNamedModel } from "./model/ai-sdk/named.ts";
import { createDemoModel } from "./model/demo/demo.ts";
import type { Model } from "./model/model.ts";
import { loadScript } from "./model/scripted/script.ts";
import { createScriptedModel } from "./model/scripted/scripted.ts";

/** The model of agents where nothing names one: it needs no key, and says itself that it is no language model. */
export const DEFAULT_MODEL = "demo";

const SCRIPTED = "scripted:";

/** No model has that name here. The message lists those that there are. */
export class UnknownModel extends Error {
  override readonly name = "UnknownModel";
}

/** Where names are looked up. */
export interface ModelPlace {
  /** What a script's path is relative to. */
  readonly cwd: string;
  /** Where keys and addresses come from, unless the configuration has a `secret` of its own. */
  readonly env: NodeJS.ProcessEnv;
}

/** The model of that name. Throws ScriptError, ModelSetupError, and UnknownModel. */
export const loadModel = async (
  name: string,
  config: Pick<Config, "models" | "secret">,
  { cwd, env }: ModelPlace,
): Promise<Model> => {
  const { models = {} } = config;
  const configured = Object.hasOwn(models, name) ? models[name] : undefined;
  if (configured !== undefined) return configured;
  if (name === DEFAULT_MODEL) return createDemoModel();
  if (name.startsWith(SCRIPTED)) {
    const path = resolve(cwd, name.slice(SCRIPTED.length));
    return createScriptedModel({ name, lines: await loadScript(path) });
  }
  if (isAiSdkName(name)) return openNamedModel(name, config.secret ?? ((variable) => env[variable]));
  const known = [...Object.keys(models), DEFAULT_MODEL, `${SCRIPTED}FILE`, ...aiSdkNames].join(", ");
  throw new UnknownModel(`there is no model ${JSON.stringify(name)}; known are ${known}`);
};
