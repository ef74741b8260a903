import type { Case } from "./case.ts";
import { batch } from "./cases/batch.ts";
import { callsTogether } from "./cases/calls-together.ts";
import { backlog, control } from "./cases/control.ts";
import { heartbeat } from "./cases/heartbeat.ts";
import { ledger } from "./cases/ledger.ts";
import { manyCalls } from "./cases/many-calls.ts";
import { poolCost } from "./cases/pool-cost.ts";
import { ray } from "./cases/ray.ts";
import { replace } from "./cases/replace.ts";
import { prefetch, smallCall, throughput } from "./cases/small-calls.ts";
import { soak } from "./cases/soak.ts";
import { start } from "./cases/start.ts";
import { streams } from "./cases/streams.ts";
import { tables } from "./cases/tables.ts";
import { telemetry } from "./cases/telemetry.ts";
import { threads } from "./cases/threads.ts";
import { values } from "./cases/values.ts";

/** Every case, in the order of the report. */
export const cases: readonly Case[] = [
	smallCall,
	throughput,
	prefetch,
	batch,
	callsTogether,
	threads,
	poolCost,
	values,
	tables,
	streams,
	start,
	replace,
	manyCalls,
	heartbeat,
	ledger,
	ray,
	telemetry,
	control,
	backlog,
	soak,
];
