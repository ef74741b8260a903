import { hostKilled } from "./cases/host-killed.ts";
import type { ChaosCase } from "./harness/chaos-case.ts";

/** Every case, in the order of the results. */
export const CASES: readonly ChaosCase[] = [...hostKilled];
