import {
	ATTACH_CHECKS,
	ATTACH_DEFAULTS,
} from "../../packages/control/src/attach.ts";
import { REAP_CHECKS } from "../../packages/core/src/cleanup/reap-dead-runs.ts";
import { DOCTOR_CHECKS } from "../../packages/core/src/inspect/doctor.ts";
import {
	READ_CHECKS,
	READ_DEFAULTS,
} from "../../packages/core/src/inspect/history.ts";
import {
	JOB_CHECKS,
	JOB_DEFAULTS,
} from "../../packages/core/src/job/job-options.ts";
import {
	CALLS_DEFAULTS,
	HEARTBEAT_DEFAULTS,
	OUTPUT_DEFAULTS,
	QUEUE_DEFAULTS,
	RECYCLE_DEFAULTS,
	SESSIONS_DEFAULTS,
	SIZE_DEFAULTS,
	START_DEFAULTS,
	STOP_DEFAULTS,
} from "../../packages/core/src/options/pool-options.ts";
import {
	CALLS_PER_WORKER,
	OBSERVE_CHECKS,
	POOL_CHECKS,
} from "../../packages/core/src/options/resolve-pool-options.ts";
import {
	EXECUTE_CHECKS,
	EXECUTE_DEFAULTS,
	RETRY_CHECKS,
	RETRY_DEFAULTS,
	SESSION_CHECKS,
	SESSION_DEFAULTS,
} from "../../packages/core/src/pool/calls/call-options.ts";
import {
	CLOSE_CHECKS,
	CLOSE_DEFAULTS,
	CONTROL_CHECKS,
	CONTROL_DEFAULTS,
	REPLACE_CHECKS,
} from "../../packages/core/src/pool/pool-control.ts";
import {
	MAP_CHECKS,
	MAP_DEFAULTS,
} from "../../packages/core/src/pool/work/call-map.ts";
import {
	AUDIT_DEFAULTS,
	HISTORY_DEFAULTS,
	JOBS_DEFAULTS,
	RUN_CHECKS,
	RUN_CONTROL_CHECKS,
	RUN_DEFAULTS,
} from "../../packages/core/src/run/run-options.ts";
import {
	LOG_EVENTS_CHECKS,
	LOG_EVENTS_DEFAULTS,
} from "../../packages/telemetry/src/log-events.ts";
import { CALL_METRICS_CHECKS } from "../../packages/telemetry/src/metrics/call-metrics-reader.ts";
import {
	TELEMETRY_CHECKS,
	TELEMETRY_DEFAULTS,
} from "../../packages/telemetry/src/options.ts";
import {
	WATCHDOG_CHECKS,
	WATCHDOG_DEFAULTS,
} from "../../packages/watchdog/src/watchdog/options.ts";
import { ADAPTER_OPTION_TYPES } from "./adapter-option-types.ts";
import {
	group,
	groupsOf,
	type OptionType,
	plainly,
	taken,
} from "./option-type.ts";

const core = "packages/core/src";
const python = "packages/adapter-python/src";
const control = "packages/control/src";

/** Every type of options that a package exports, in the order in which they are needed. */
export const OPTION_TYPES: readonly OptionType[] = [
	taken(
		"createPool",
		"PoolOptions",
		`${core}/options/pool-options.ts`,
		POOL_CHECKS,
		{
			callsPerWorker: CALLS_PER_WORKER,
		},
	),
	...groupsOf(`${core}/options/pool-options.ts`, {
		size: ["SizeOptions", SIZE_DEFAULTS],
		start: ["StartOptions", START_DEFAULTS],
		queue: ["QueueOptions", QUEUE_DEFAULTS],
		calls: ["CallsOptions", CALLS_DEFAULTS],
		heartbeat: ["HeartbeatOptions", HEARTBEAT_DEFAULTS],
		recycle: ["RecycleOptions", RECYCLE_DEFAULTS],
		sessions: ["SessionsOptions", SESSIONS_DEFAULTS],
		stop: ["StopOptions", STOP_DEFAULTS],
		output: ["OutputOptions", OUTPUT_DEFAULTS],
	}),
	group(
		"observe",
		"ObserveOptions",
		`${core}/options/pool-options.ts`,
		OBSERVE_CHECKS,
	),
	taken(
		"openRun",
		"RunOptions",
		`${core}/run/run-options.ts`,
		RUN_CHECKS,
		RUN_DEFAULTS,
	),
	...groupsOf(`${core}/run/run-options.ts`, {
		audit: ["AuditOptions", AUDIT_DEFAULTS],
		jobs: ["JobsOptions", JOBS_DEFAULTS],
		history: ["HistoryBoundOptions", HISTORY_DEFAULTS],
	}),
	group(
		"control",
		"RunControlOptions",
		`${core}/run/run-options.ts`,
		RUN_CONTROL_CHECKS,
	),
	taken("run.job", "JobOptions", `${core}/job/job-options.ts`, JOB_CHECKS, {
		...plainly({
			timeoutMs: JOB_DEFAULTS.timeoutMs,
			okCodes: JOB_DEFAULTS.okCodes,
			killAfterMs: JOB_DEFAULTS.killAfterMs,
		}),
	}),
	taken(
		"pool.execute and pool.stream",
		"ExecuteOptions",
		`${core}/pool/calls/call-options.ts`,
		EXECUTE_CHECKS,
		plainly(EXECUTE_DEFAULTS),
	),
	group(
		"retry",
		"RetryOptions",
		`${core}/pool/calls/call-options.ts`,
		RETRY_CHECKS,
		plainly(RETRY_DEFAULTS),
	),
	taken("pool.map", "MapOptions", `${core}/pool/work/call-map.ts`, MAP_CHECKS, {
		...plainly(MAP_DEFAULTS),
		concurrency: {
			value: undefined,
			reason:
				"as many as the pool can run at once: `size.max` times `callsPerWorker`",
		},
	}),
	taken(
		"pool.session",
		"SessionOptions",
		`${core}/pool/calls/call-options.ts`,
		SESSION_CHECKS,
		plainly(SESSION_DEFAULTS),
	),
	taken(
		"pool.close",
		"CloseOptions",
		`${core}/pool/pool-control.ts`,
		CLOSE_CHECKS,
		plainly(CLOSE_DEFAULTS),
	),
	taken(
		"pool.recycle",
		"ReplaceOptions",
		`${core}/pool/pool-control.ts`,
		REPLACE_CHECKS,
		plainly({ manner: CONTROL_DEFAULTS.manner }),
	),
	taken(
		"pool.recycle, restart, pause, resume and resize",
		"ControlOptions",
		`${core}/pool/pool-control.ts`,
		CONTROL_CHECKS,
		plainly({ by: CONTROL_DEFAULTS.by }),
	),
	taken(
		"attach",
		"AttachOptions",
		`${control}/attach.ts`,
		ATTACH_CHECKS,
		plainly(ATTACH_DEFAULTS),
	),
	...ADAPTER_OPTION_TYPES,
	taken(
		"watchdog",
		"WatchdogOptions",
		"packages/watchdog/src/watchdog/options.ts",
		WATCHDOG_CHECKS,
		WATCHDOG_DEFAULTS,
	),
	taken(
		"telemetry",
		"TelemetryOptions",
		"packages/telemetry/src/options.ts",
		TELEMETRY_CHECKS,
		TELEMETRY_DEFAULTS,
	),
	taken(
		"callMetrics",
		"CallMetricsOptions",
		"packages/telemetry/src/metrics/call-metrics-reader.ts",
		CALL_METRICS_CHECKS,
	),
	taken(
		"logEvents",
		"LogEventsOptions",
		"packages/telemetry/src/log-events.ts",
		LOG_EVENTS_CHECKS,
		plainly(LOG_EVENTS_DEFAULTS),
	),
	taken(
		"readHistory",
		"HistoryOptions",
		`${core}/inspect/history.ts`,
		READ_CHECKS,
		plainly(READ_DEFAULTS),
	),
	taken("doctor", "DoctorOptions", `${core}/inspect/doctor.ts`, DOCTOR_CHECKS),
	taken(
		"reapDeadRuns",
		"ReapOptions",
		`${core}/cleanup/reap-dead-runs.ts`,
		REAP_CHECKS,
	),
	taken("encodeValue", "EncodeOptions", `${python}/values/encode-value.ts`, {}),
];
