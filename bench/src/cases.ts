import type { Case } from "./case.ts";
import { poolCost } from "./cases/pool-cost.ts";
import { smallCall } from "./cases/small-call.ts";
import { throughput } from "./cases/throughput.ts";

/** Every case, in the order of the report. */
export const cases: readonly Case[] = [smallCall, throughput, poolCost];
