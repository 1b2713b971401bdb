// Models by name: those of the configuration, `scripted:FILE`, `demo`, and those of providers, such as `anthropic/…`.
import { resolve } from "node:path";
import type { Config } from "../config/config.ts";
import { aiSdkNames, isAiSdkName, openNamedModel } from "../model/ai-sdk/named.ts";
import { createDemoModel } from "../model/demo/demo.ts";
import type { Model } from "../model/model.ts";
import { loadScript } from "../model/scripted/script.ts";
import { createScriptedModel } from "../model/scripted/scripted.ts";
import { CommandError } from "./failure.ts";
import type { Program } from "./program.ts";

/** The model of agents where nothing names one: it needs no key, and says itself that it is no language model. */
export const DEFAULT_MODEL = "demo";

const SCRIPTED = "scripted:";

/**
 * The model of that name; a script's path is relative to `cwd`, keys come from the configuration's `secret` or from `env`.
 * Throws ScriptError, ModelSetupError, and CommandError for a name that is not known.
 */
export const loadModel = async (
  name: string,
  config: Config,
  { cwd, env }: Pick<Program, "cwd" | "env">,
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
  throw new CommandError(`there is no model ${JSON.stringify(name)}; known are ${known}`);
};
