// What the processes of processes.test.ts and the test agree on.

/** Calls of each task before its answer. */
export const CYCLES = 8;
/** Of the workers' claims: how long the tasks of a killed one wait. */
export const LEASE_MS = 1_500;
