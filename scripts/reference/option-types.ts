import {
	PYTHON_GRPC_CHECKS,
	DEFAULTS as PYTHON_GRPC_DEFAULTS,
} from "../../packages/adapter-grpc-python/src/options.ts";
import {
	ENVIRONMENT_CHECKS,
	ENVIRONMENT_DEFAULTS,
} from "../../packages/adapter-python/src/environment/python-environment.ts";
import { DEFAULTS as PYTHON_DEFAULTS } from "../../packages/adapter-python/src/options.ts";
import {
	PRELOAD_CHECKS,
	PYTHON_CHECKS,
	SHARED_MEMORY_CHECKS,
} from "../../packages/adapter-python/src/resolve-options.ts";
import { DOCTOR_CHECKS } from "../../packages/core/src/inspect/doctor.ts";
import {
	READ_CHECKS,
	READ_DEFAULTS,
} from "../../packages/core/src/inspect/read-history.ts";
import type { Check } from "../../packages/core/src/option-check.ts";
import { DEFAULTS } from "../../packages/core/src/option-defaults.ts";
import {
	EXECUTE_CHECKS,
	EXECUTE_DEFAULTS,
	SESSION_CHECKS,
	SESSION_DEFAULTS,
} from "../../packages/core/src/pool/call-options.ts";
import {
	CLOSE_CHECKS,
	CLOSE_DEFAULTS,
} from "../../packages/core/src/pool/close-options.ts";
import {
	MAP_CHECKS,
	MAP_DEFAULTS,
} from "../../packages/core/src/pool/map-options.ts";
import { POOL_CHECKS } from "../../packages/core/src/resolve-options.ts";
import { RUN_CHECKS } from "../../packages/core/src/run/run-options.ts";
import {
	LOG_EVENTS_CHECKS,
	LOG_EVENTS_DEFAULTS,
} from "../../packages/telemetry/src/log-events.ts";
import {
	TELEMETRY_CHECKS,
	TELEMETRY_DEFAULTS,
} from "../../packages/telemetry/src/options.ts";
import {
	GUARD_CHECKS,
	GUARD_DEFAULTS,
} from "../../packages/watchdog/src/guard/guard.ts";
import {
	WATCHDOG_CHECKS,
	WATCHDOG_DEFAULTS,
} from "../../packages/watchdog/src/watchdog/options.ts";
import { commentsOf } from "./declared.ts";
import { quantity } from "./quantity.ts";

/** What an option is when it is left out, and why. */
export interface Left {
	readonly value: unknown;
	/** Said beside the value. */
	readonly and?: string;
	readonly reason?: string;
}

/** One interface of options, and what the code that takes it knows of them. */
export interface OptionType {
	/** What takes it, or the option that it is the value of. */
	readonly title: string;
	readonly level: 2 | 3;
	readonly file: string;
	readonly name: string;
	readonly defaults: Readonly<Record<string, Left>>;
	readonly checks: Readonly<Record<string, Check>>;
}

const core = "packages/core/src";
const python = "packages/adapter-python/src";
const grpc = "packages/adapter-grpc-python/src";

/** Options of a pool and the interface of each group. */
const GROUPS = {
	size: "SizeOptions",
	start: "StartOptions",
	queue: "QueueOptions",
	calls: "CallsOptions",
	heartbeat: "HeartbeatOptions",
	recycle: "RecycleOptions",
	sessions: "SessionsOptions",
	stop: "StopOptions",
	output: "OutputOptions",
} as const;

/** Options of a run and the interface of each group. */
const RUN_GROUPS = {
	audit: "AuditOptions",
	history: "HistoryBoundOptions",
} as const;

/** Every type of options that a package exports, in the order in which they are needed. */
export const OPTION_TYPES: readonly OptionType[] = [
	{
		title: "createPool",
		level: 2,
		file: `${core}/options.ts`,
		name: "PoolOptions",
		defaults: { callsPerWorker: DEFAULTS.callsPerWorker },
		checks: POOL_CHECKS,
	},
	...Object.entries(GROUPS).map(([group, name]) =>
		groupOf(`${core}/options.ts`, group, name),
	),
	{
		title: "openRun",
		level: 2,
		file: `${core}/run/run-options.ts`,
		name: "RunOptions",
		defaults: {
			onSignal: DEFAULTS.onSignal,
			signalGraceMs: DEFAULTS.signalGraceMs,
		},
		checks: RUN_CHECKS,
	},
	...Object.entries(RUN_GROUPS).map(([group, name]) =>
		groupOf(`${core}/run/run-options.ts`, group, name),
	),
	{
		title: "pool.execute and pool.stream",
		level: 2,
		file: `${core}/pool/call-options.ts`,
		name: "ExecuteOptions",
		defaults: plainly(EXECUTE_DEFAULTS),
		checks: EXECUTE_CHECKS,
	},
	{
		title: "pool.map",
		level: 2,
		file: `${core}/pool/map-options.ts`,
		name: "MapOptions",
		defaults: {
			...plainly(MAP_DEFAULTS),
			concurrency: {
				value: undefined,
				reason:
					"as many as the pool can run at once: `size.max` times `callsPerWorker`",
			},
		},
		checks: MAP_CHECKS,
	},
	{
		title: "pool.session",
		level: 2,
		file: `${core}/pool/call-options.ts`,
		name: "SessionOptions",
		defaults: plainly(SESSION_DEFAULTS),
		checks: SESSION_CHECKS,
	},
	{
		title: "pool.close",
		level: 2,
		file: `${core}/pool/close-options.ts`,
		name: "CloseOptions",
		defaults: plainly(CLOSE_DEFAULTS),
		checks: CLOSE_CHECKS,
	},
	{
		title: "python",
		level: 2,
		file: `${python}/options.ts`,
		name: "PythonOptions",
		defaults: pythonDefaults(),
		checks: PYTHON_CHECKS,
	},
	{
		title: "preload",
		level: 3,
		file: `${python}/options.ts`,
		name: "PreloadOptions",
		defaults: {},
		checks: PRELOAD_CHECKS,
	},
	{
		title: "sharedMemory",
		level: 3,
		file: `${python}/options.ts`,
		name: "SharedMemoryOptions",
		defaults: plainly(PYTHON_DEFAULTS.sharedMemory),
		checks: SHARED_MEMORY_CHECKS,
	},
	{
		title: "pythonEnvironment",
		level: 2,
		file: `${python}/environment/python-environment.ts`,
		name: "PythonEnvironmentOptions",
		defaults: ENVIRONMENT_DEFAULTS,
		checks: ENVIRONMENT_CHECKS,
	},
	{
		title: "pythonGrpc",
		level: 2,
		file: `${grpc}/options.ts`,
		name: "PythonGrpcOptions",
		defaults: {
			transport: {
				value: PYTHON_GRPC_DEFAULTS.transport,
				reason: commentsOf(`${grpc}/options.ts`, "DEFAULTS")["transport"] ?? "",
			},
		},
		checks: PYTHON_GRPC_CHECKS,
	},
	{
		title: "watchdog",
		level: 2,
		file: "packages/watchdog/src/watchdog/options.ts",
		name: "WatchdogOptions",
		defaults: WATCHDOG_DEFAULTS,
		checks: WATCHDOG_CHECKS,
	},
	{
		title: "guard",
		level: 2,
		file: "packages/watchdog/src/guard/guard.ts",
		name: "GuardOptions",
		defaults: GUARD_DEFAULTS,
		checks: GUARD_CHECKS,
	},
	{
		title: "telemetry",
		level: 2,
		file: "packages/telemetry/src/options.ts",
		name: "TelemetryOptions",
		defaults: TELEMETRY_DEFAULTS,
		checks: TELEMETRY_CHECKS,
	},
	{
		title: "logEvents",
		level: 2,
		file: "packages/telemetry/src/log-events.ts",
		name: "LogEventsOptions",
		defaults: plainly(LOG_EVENTS_DEFAULTS),
		checks: LOG_EVENTS_CHECKS,
	},
	{
		title: "readHistory",
		level: 2,
		file: `${core}/inspect/read-history.ts`,
		name: "HistoryOptions",
		defaults: plainly(READ_DEFAULTS),
		checks: READ_CHECKS,
	},
	{
		title: "doctor",
		level: 2,
		file: `${core}/inspect/doctor.ts`,
		name: "DoctorOptions",
		defaults: {},
		checks: DOCTOR_CHECKS,
	},
	{
		title: "encodeValue",
		level: 2,
		file: `${python}/values/encode-value.ts`,
		name: "EncodeOptions",
		defaults: {},
		checks: {},
	},
];

/** A group has its numbers and words in the table of defaults. */
function groupOf(file: string, group: string, name: string): OptionType {
	const rows = Object.entries(DEFAULTS).flatMap(([key, row]) =>
		key.startsWith(`${group}.`)
			? [[key.slice(group.length + 1), row] as const]
			: [],
	);
	return {
		title: group,
		level: 3,
		file,
		name,
		defaults: Object.fromEntries(rows),
		checks: Object.fromEntries(
			rows.map(([option, { check }]) => [option, check]),
		),
	};
}

/** The reasons stand in the table as comments. */
function pythonDefaults(): Readonly<Record<string, Left>> {
	const reasons = commentsOf(`${python}/options.ts`, "DEFAULTS");
	const { streamCredit, sharedMemory: _group, ...rest } = PYTHON_DEFAULTS;
	const { chunks, smallBytes } = streamCredit;
	return Object.fromEntries(
		Object.entries({
			...plainly(rest),
			streamCredit: {
				value: chunks,
				and: `and more of small ones, as long as all together have less than ${quantity("smallBytes", smallBytes)}`,
			},
			sharedMemory: { value: undefined },
		}).map(([option, left]) => [
			option,
			{ ...left, reason: reasons[option] ?? "" },
		]),
	);
}

function plainly(
	values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, Left>> {
	return Object.fromEntries(
		Object.entries(values).map(([option, value]) => [option, { value }]),
	);
}
