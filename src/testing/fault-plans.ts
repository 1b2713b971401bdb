// Plans of what happens to the port calls of a simulated process, one fault or deed at a time.
import type { Fault, FaultPlan } from "./simulation/scheduler.ts";

/** A fault at the `nth` (from 1) call of a port, such as `store.append`, `model.stream` or `tool.send`. */
export const at = (port: string, fault: Fault, nth = 1): FaultPlan => {
  let met = 0;
  return (call) => {
    if (call.port !== port) return null;
    met += 1;
    return met === nth ? fault : null;
  };
};

/** Does something right before the `nth` (from 1) call of a port; no fault. */
export const before = (port: string, nth: number, act: () => unknown): FaultPlan => {
  let met = 0;
  return (call) => {
    if (call.port === port) met += 1;
    if (call.port === port && met === nth) act();
    return null;
  };
};

/** The first fault of several plans; each sees every call. */
export const both =
  (...plans: readonly FaultPlan[]): FaultPlan =>
  (call) =>
    plans.map((plan) => plan(call)).find((fault) => fault !== null) ?? null;
