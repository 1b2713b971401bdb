// What went wrong, in one line for a person, and the exit code that goes with it.
import { ClientError } from "../client/client.ts";
import { ConfigError } from "../config/load.ts";
import { SettingError } from "../config/settings.ts";
import { InstanceHeld } from "../instance-lock.ts";
import { ModelSetupError } from "../model/ai-sdk/named.ts";
import { UnknownModel } from "../models.ts";
import { ScriptError } from "../model/scripted/script.ts";
import { StoreError } from "../store/store.ts";
import { UsageError } from "./command.ts";

/** A command cannot do what it was asked. The message is for the person, and says what to do. Exit 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

export interface Failure {
  readonly exitCode: 1 | 2;
  /** For programs; `unexpected` for what should not happen. */
  readonly code: string;
  readonly message: string;
}

const isUsage = (error: unknown): error is Error => error instanceof UsageError || error instanceof SettingError;

const isExpected = (error: unknown): error is Error =>
  [CommandError, ConfigError, InstanceHeld, ModelSetupError, ScriptError, UnknownModel].some(
    (expected) => error instanceof expected,
  );

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, " ");

export const failureOf = (error: unknown): Failure => {
  // What went wrong first; that something could not be closed after it says nothing more.
  if (error instanceof SuppressedError) return failureOf(error.suppressed);
  if (isUsage(error)) return { exitCode: 2, code: "usage", message: oneLine(error.message) };
  if (error instanceof ClientError || error instanceof StoreError) {
    return { exitCode: 1, code: error.code, message: oneLine(error.message) };
  }
  if (isExpected(error)) return { exitCode: 1, code: "error", message: oneLine(error.message) };
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { exitCode: 1, code: "unexpected", message: `${oneLine(message)} (--debug shows where it came from)` };
};
