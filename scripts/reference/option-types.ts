import {
	PYTHON_GRPC_CHECKS,
	DEFAULTS as PYTHON_GRPC_DEFAULTS,
} from "../../packages/adapter-grpc-python/src/options.ts";
import {
	HTTP_CHECKS,
	HTTP_DEFAULTS,
} from "../../packages/adapter-http/src/options.ts";
import {
	LSP_CHECKS,
	LSP_DEFAULTS,
} from "../../packages/adapter-lsp/src/options.ts";
import { MCP_CHECKS } from "../../packages/adapter-mcp/src/options.ts";
import {
	MCP_HTTP_CHECKS,
	SERVE_CHECKS,
	SERVE_DEFAULTS,
} from "../../packages/adapter-mcp/src/server/options.ts";
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
import { SOURCE_CHECKS } from "../../packages/adapter-python/src/tool-sources.ts";
import { JSON_RPC_CHECKS } from "../../packages/adapter-stdio/src/json-rpc/check-options.ts";
import { JSON_RPC_DEFAULTS } from "../../packages/adapter-stdio/src/json-rpc/options.ts";
import { LINES_CHECKS } from "../../packages/adapter-stdio/src/lines/lines-adapter.ts";
import {
	STDIO_CHECKS,
	STDIO_DEFAULTS,
} from "../../packages/adapter-stdio/src/stdio-options.ts";
import {
	ATTACH_CHECKS,
	ATTACH_DEFAULTS,
} from "../../packages/control/src/attach.ts";
import { DOCTOR_CHECKS } from "../../packages/core/src/inspect/doctor.ts";
import {
	READ_CHECKS,
	READ_DEFAULTS,
} from "../../packages/core/src/inspect/read-history.ts";
import {
	JOB_CHECKS,
	JOB_DEFAULTS,
} from "../../packages/core/src/job/job-options.ts";
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
import {
	CONTROL_CHECKS,
	CONTROL_DEFAULTS,
	REPLACE_CHECKS,
} from "../../packages/core/src/pool/pool-control.ts";
import {
	RETRY_CHECKS,
	RETRY_DEFAULTS,
} from "../../packages/core/src/pool/retry.ts";
import {
	PROGRAM_CHECKS,
	PROGRAM_DEFAULTS,
} from "../../packages/core/src/program-options.ts";
import {
	OBSERVE_CHECKS,
	POOL_CHECKS,
} from "../../packages/core/src/resolve-options.ts";
import { RUN_CONTROL_CHECKS } from "../../packages/core/src/run/control-option.ts";
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
const stdio = "packages/adapter-stdio/src";
const http = "packages/adapter-http/src";
const lsp = "packages/adapter-lsp/src";
const mcp = "packages/adapter-mcp/src";
const control = "packages/control/src";

/** Every type of options that a package exports, in the order in which they are needed. */
export const OPTION_TYPES: readonly OptionType[] = [
	taken("createPool", "PoolOptions", `${core}/options.ts`, POOL_CHECKS, {
		callsPerWorker: DEFAULTS.callsPerWorker,
	}),
	...groupsOf(`${core}/options.ts`, {
		size: "SizeOptions",
		start: "StartOptions",
		queue: "QueueOptions",
		calls: "CallsOptions",
		heartbeat: "HeartbeatOptions",
		recycle: "RecycleOptions",
		sessions: "SessionsOptions",
		stop: "StopOptions",
		output: "OutputOptions",
	}),
	group("observe", "ObserveOptions", `${core}/options.ts`, OBSERVE_CHECKS),
	taken("openRun", "RunOptions", `${core}/run/run-options.ts`, RUN_CHECKS, {
		onSignal: DEFAULTS.onSignal,
		signalGraceMs: DEFAULTS.signalGraceMs,
		echo: DEFAULTS.echo,
	}),
	...groupsOf(`${core}/run/run-options.ts`, {
		audit: "AuditOptions",
		jobs: "JobsOptions",
		history: "HistoryBoundOptions",
	}),
	group(
		"control",
		"RunControlOptions",
		`${core}/run/control-option.ts`,
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
		`${core}/pool/call-options.ts`,
		EXECUTE_CHECKS,
		plainly(EXECUTE_DEFAULTS),
	),
	group(
		"retry",
		"RetryOptions",
		`${core}/pool/retry.ts`,
		RETRY_CHECKS,
		plainly(RETRY_DEFAULTS),
	),
	taken("pool.map", "MapOptions", `${core}/pool/map-options.ts`, MAP_CHECKS, {
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
		`${core}/pool/call-options.ts`,
		SESSION_CHECKS,
		plainly(SESSION_DEFAULTS),
	),
	taken(
		"pool.close",
		"CloseOptions",
		`${core}/pool/close-options.ts`,
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
	taken(
		"python",
		"PythonOptions",
		`${python}/options.ts`,
		PYTHON_CHECKS,
		pythonDefaults(),
	),
	group("tools", "ToolSource", `${python}/options.ts`, SOURCE_CHECKS),
	group("preload", "PreloadOptions", `${python}/options.ts`, PRELOAD_CHECKS),
	group(
		"sharedMemory",
		"SharedMemoryOptions",
		`${python}/options.ts`,
		SHARED_MEMORY_CHECKS,
		plainly(PYTHON_DEFAULTS.sharedMemory),
	),
	taken(
		"pythonEnvironment",
		"PythonEnvironmentOptions",
		`${python}/environment/python-environment.ts`,
		ENVIRONMENT_CHECKS,
		ENVIRONMENT_DEFAULTS,
	),
	taken(
		"pythonGrpc",
		"PythonGrpcOptions",
		`${grpc}/options.ts`,
		PYTHON_GRPC_CHECKS,
		{
			transport: {
				value: PYTHON_GRPC_DEFAULTS.transport,
				reason: commentsOf(`${grpc}/options.ts`, "DEFAULTS")["transport"] ?? "",
			},
		},
	),
	taken(
		"jsonRpc",
		"JsonRpcOptions",
		`${stdio}/json-rpc/options.ts`,
		JSON_RPC_CHECKS,
		plainly(JSON_RPC_DEFAULTS),
	),
	taken(
		"lines",
		"LinesOptions",
		`${stdio}/lines/lines-adapter.ts`,
		LINES_CHECKS,
	),
	taken(
		"jsonRpc, lines and lsp",
		"StdioOptions",
		`${stdio}/stdio-options.ts`,
		STDIO_CHECKS,
		plainly(STDIO_DEFAULTS),
	),
	taken(
		"lsp",
		"LspOptions",
		`${lsp}/options.ts`,
		LSP_CHECKS,
		plainly(LSP_DEFAULTS),
	),
	taken(
		"http",
		"HttpOptions",
		`${http}/options.ts`,
		HTTP_CHECKS,
		plainly(HTTP_DEFAULTS),
	),
	taken("mcp", "McpOptions", `${mcp}/options.ts`, MCP_CHECKS),
	taken(
		"serveMcp",
		"ServeMcpOptions",
		`${mcp}/server/options.ts`,
		SERVE_CHECKS,
		plainly(SERVE_DEFAULTS),
	),
	group(
		"serveMcp.http",
		"McpHttpOptions",
		`${mcp}/server/options.ts`,
		MCP_HTTP_CHECKS,
	),
	taken(
		"programs of adapters",
		"ProgramOptions",
		`${core}/program-options.ts`,
		PROGRAM_CHECKS,
		plainly(PROGRAM_DEFAULTS),
	),
	taken(
		"watchdog",
		"WatchdogOptions",
		"packages/watchdog/src/watchdog/options.ts",
		WATCHDOG_CHECKS,
		WATCHDOG_DEFAULTS,
	),
	taken(
		"guard",
		"GuardOptions",
		"packages/watchdog/src/guard/guard.ts",
		GUARD_CHECKS,
		GUARD_DEFAULTS,
	),
	taken(
		"telemetry",
		"TelemetryOptions",
		"packages/telemetry/src/options.ts",
		TELEMETRY_CHECKS,
		TELEMETRY_DEFAULTS,
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
		`${core}/inspect/read-history.ts`,
		READ_CHECKS,
		plainly(READ_DEFAULTS),
	),
	taken("doctor", "DoctorOptions", `${core}/inspect/doctor.ts`, DOCTOR_CHECKS),
	taken("encodeValue", "EncodeOptions", `${python}/values/encode-value.ts`, {}),
];

/** What a function takes. */
function taken(
	title: string,
	name: string,
	file: string,
	checks: OptionType["checks"],
	defaults: OptionType["defaults"] = {},
): OptionType {
	return { title, level: 2, file, name, defaults, checks };
}

/** The value of one option. */
function group(...of: Parameters<typeof taken>): OptionType {
	return { ...taken(...of), level: 3 };
}

/** Groups that have their numbers and words in the table of defaults, each with its interface. */
function groupsOf(
	file: string,
	groups: Readonly<Record<string, string>>,
): readonly OptionType[] {
	return Object.entries(groups).map(([title, name]) => {
		const rows = Object.entries(DEFAULTS).flatMap(([key, row]) =>
			key.startsWith(`${title}.`)
				? [[key.slice(title.length + 1), row] as const]
				: [],
		);
		const checks = rows.map(([option, { check }]) => [option, check]);
		return group(
			title,
			name,
			file,
			Object.fromEntries(checks),
			Object.fromEntries(rows),
		);
	});
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
