import { join } from "node:path";
import { OptionsError } from "@snakepit/core";
import type {
	LaunchSpec,
	LaunchStacks,
	PreloadSlot,
	StartErrorCode,
	WorkerSlot,
} from "@snakepit/core/adapter";
import type { Interpreter } from "../interpreter/interpreter.ts";
import { missedChanges } from "../interpreter/probe.ts";
import {
	BRIDGE_ALONE,
	DEFAULTS,
	type ResolvedOptions,
	type ResolvedPreload,
	type WorkerEnv,
} from "../options.ts";
import { isEnv } from "../resolve-options.ts";
import type {
	SharedMemorySetting,
	SharingLimits,
} from "../shared-memory/shared-memory.ts";
import type { PythonStartErrorCode } from "../start-error-codes.ts";
import { HOST_PACKAGE, PROTOCOL } from "./worker-facts.ts";
import { workerTelemetry } from "./worker-telemetry.ts";

/** A worker warns if it gets no ping for this long: ten of core's intervals. */
const SILENCE_WARN_MS = 30_000;
/** `faulthandler` writes all stacks when this signal arrives: only a worker that is about to be ended gets it. */
const DUMP_SIGNAL = "SIGQUIT";
/** How the bridge writes stacks on request (docs/bridge-protocol.md); the lines between are those of `faulthandler`. */
const STACKS: LaunchStacks = {
	signal: "SIGUSR1",
	forcedSignal: DUMP_SIGNAL,
	begin: /^snakepit stacks begin/,
	end: /^snakepit stacks end$/,
	line: /^(?:(?:(?:Current t|T)hread 0x[0-9a-f]+|Coroutine of) .*\(most recent call first\):| {2}(?:File |<|\.\.\.|Garbage-collecting|Binary file ).*|<Cannot show .*|)$/,
};
/** From this version on, `-P` keeps the working directory out of the module path. */
const SAFE_PATH = [3, 11] as const;
/**
 * For an older Python: runs the module whose name follows, as `-m` does, which by itself would first import modules that
 * it needs from the working directory.
 */
const WITHOUT_SAFE_PATH: readonly string[] = [
	"-c",
	'import sys; sys.path[:] = [entry for entry in sys.path if entry != ""]; name = sys.argv[2]; del sys.argv[1:3]; import runpy; runpy._run_module_as_main(name)',
];

const LOG_LEVELS = {
	debug: 10,
	info: 20,
	warning: 30,
	error: 40,
	critical: 50,
} as const;

/** Where a worker listens. One letter, because the path of a socket has at most 104 bytes. */
export function socketPath(slot: WorkerSlot): string {
	return join(slot.directory, "s");
}

/** The codes with which the bridge may report that it cannot start (docs/bridge-protocol.md). */
const REFUSAL_CODES: readonly (PythonStartErrorCode | StartErrorCode)[] = [
	"PROTOCOL_MISMATCH",
	"PYTHON_TOO_OLD",
	"BRIDGE_MISSING",
	"TOOLS_IMPORT_FAILED",
	"STARTUP_HOOK_FAILED",
	"DEBUGGER_UNUSABLE",
	"PRELOAD_FAILED",
	"FORK_UNSAFE_PLATFORM",
	"FORK_UNSAFE_THREADS",
	"FORK_UNSAFE_GRPC",
	"FORK_UNSAFE_CUDA",
	"FORK_UNSAFE_CONNECTIONS",
	"FORK_UNSAFE_FILES",
];

/** Where a person reaches a worker that stops at a `breakpoint()`. */
function debugSocket(slot: WorkerSlot): string {
	return join(slot.directory, "d");
}

/** The facts about this program that a launch depends on. */
export interface LaunchHost {
	readonly parallelism: number;
	readonly env: Readonly<Record<string, string | undefined>>;
	/** The name of its file, without directory and extension. */
	readonly program: string;
	readonly platform: NodeJS.Platform;
}

/** What to execute for one slot. */
export function launchSpec(
	slot: WorkerSlot,
	interpreter: Interpreter,
	options: ResolvedOptions,
	host: LaunchHost,
): LaunchSpec {
	const { debug } = options;
	const userEnv = envOf(slot, options);
	return {
		...programSpec("worker", slot, interpreter, options, { host, userEnv }),
		...(debug === "terminal" && { stdin: debug }),
		dumpSignal: DUMP_SIGNAL,
		stacks: STACKS,
		refusalCodes: REFUSAL_CODES,
		launchPayload: {
			...commonPayload(slot, options),
			socket: socketPath(slot),
			telemetry: workerTelemetry(options, host, userEnv),
			...sharedMemorySetting(slot, options),
			...(debug !== "off" && {
				debug: { mode: debug, socket: debugSocket(slot) },
			}),
		},
	};
}

/** What to execute as the preloaded parent of a pool, if it has one: with the variables of its workers, except those that differ between slots. */
export function preloadSpec(
	slot: PreloadSlot,
	interpreter: Interpreter,
	options: ResolvedOptions,
	host: LaunchHost,
): LaunchSpec | undefined {
	const choice = preloadChoice(options, slot.slots, host.platform);
	if (choice === "off") return undefined;
	return {
		...programSpec("preload", slot, interpreter, options, {
			host,
			userEnv: typeof options.env === "function" ? {} : options.env,
		}),
		dumpSignal: DUMP_SIGNAL,
		refusalCodes: REFUSAL_CODES,
		launchPayload: {
			...commonPayload(slot, options),
			socket: slot.forkSocket,
			hostPid: slot.hostPid,
			modules: choice.modules,
			importTools: choice.tools === "imported",
		},
	};
}

/** The slot of any program of the bridge. */
export type ProgramSlot = Pick<
	WorkerSlot,
	"slots" | "runId" | "callsPerWorker" | "startTimeoutMs"
>;

/** What to execute for a program of the bridge that is not a worker; it gets the same payload as workers. */
export function bridgeSpec(
	command: string,
	slot: ProgramSlot,
	interpreter: Interpreter,
	options: ResolvedOptions,
	host: LaunchHost,
): LaunchSpec {
	return {
		...programSpec(command, slot, interpreter, options, { host, userEnv: {} }),
		dumpSignal: DUMP_SIGNAL,
		stacks: STACKS,
		refusalCodes: REFUSAL_CODES,
		launchPayload: commonPayload(slot, options),
	};
}

/** The variables of a worker that runs on another machine; `null` removes one. */
export function remoteEnv(
	slot: WorkerSlot,
	threads: number,
	options: ResolvedOptions,
): Readonly<Record<string, string | null>> {
	const userEnv = envOf(slot, options);
	const { threadsPerWorker = threads } = options;
	const limits =
		threadsPerWorker === "inherit"
			? {}
			: threadLimits(threadsPerWorker, userEnv);
	const env = Object.entries({ ...limits, ...userEnv });
	return Object.fromEntries(env.map(([name, value]) => [name, value ?? null]));
}

/** The common parts of the bridge's programs: the interpreter, its switches, the environment. */
function programSpec(
	command: string,
	{ slots, runId }: Pick<WorkerSlot, "slots" | "runId">,
	interpreter: Interpreter,
	options: ResolvedOptions,
	{ host, userEnv }: { readonly host: LaunchHost; readonly userEnv: WorkerEnv },
): Pick<LaunchSpec, "executable" | "args" | "env" | "cwd"> {
	const threads =
		options.threadsPerWorker ?? fairThreads(host.parallelism, slots);
	const limits =
		threads === "inherit"
			? {}
			: threadLimits(threads, { ...host.env, ...userEnv });
	const [major, minor] = interpreter.version;
	const safePath =
		major > SAFE_PATH[0] || (major === SAFE_PATH[0] && minor >= SAFE_PATH[1]);
	return {
		executable: interpreter.program,
		args: [
			...(safePath ? ["-P"] : []),
			// debugpy passes over breakpoints in frozen modules; before 3.11 the switch has no effect.
			...(options.debug === "debugpy" ? ["-Xfrozen_modules=off"] : []),
			"-u",
			...(safePath ? [] : WITHOUT_SAFE_PATH),
			"-m",
			"snakepit_bridge",
			command,
			"--run-id",
			runId,
		],
		// Python's own buffering is off in the programs that a tool starts, too.
		env: {
			PYTHONUNBUFFERED: "1",
			...limits,
			...userEnv,
			// A worker that is forked is not started by the wrapper, if there is one.
			...(command === "preload" ||
			preloadChoice(options, slots, host.platform) === "off"
				? {}
				: missedChanges(interpreter.changes, { ...host.env, ...userEnv })),
		},
		...(options.cwd !== undefined && { cwd: options.cwd }),
	};
}

function commonPayload(
	{
		callsPerWorker,
		startTimeoutMs,
	}: Pick<WorkerSlot, "callsPerWorker" | "startTimeoutMs">,
	options: ResolvedOptions,
): object {
	return {
		protocol: PROTOCOL,
		hostPackage: HOST_PACKAGE,
		transport: options.kind.transport.name,
		tools: options.tools,
		toolPath: options.toolPath,
		handles: options.handles,
		callsPerWorker,
		maxMessageBytes: options.maxMessageBytes,
		startTimeoutMs,
		// Without a heartbeat there are no pings to miss.
		silenceWarnMs: options.debug === "off" ? SILENCE_WARN_MS : 0,
		logLevel: LOG_LEVELS[options.logLevel],
		...(options.watch !== "off" && { watch: options.watch }),
	};
}

/** Which values travel in the sideband to another machine: over a network, they are messages and have the limit of messages. */
export function relayedLimits(maxMessageBytes: number): SharingLimits {
	const { fromBytes } = DEFAULTS.sharedMemory;
	return { fromBytes, limitBytes: maxMessageBytes };
}

/** How values are shared with the worker of one slot; `undefined` if they are not shared. */
export function sharedMemorySetting(
	{ sharedDirectory }: WorkerSlot,
	{ sharedMemory }: Pick<ResolvedOptions, "sharedMemory">,
): {
	readonly sharedMemory?: SharedMemorySetting;
	/** The file in which the worker notes which calls it began. */
	readonly callPage?: string;
} {
	return sharedDirectory === undefined || sharedMemory === "off"
		? {}
		: {
				sharedMemory: { directory: sharedDirectory, ...sharedMemory },
				callPage: join(sharedDirectory, "calls"),
			};
}

/** @throws OptionsError when the user's function returns something else. */
function envOf(slot: WorkerSlot, { env, kind }: ResolvedOptions): WorkerEnv {
	if (typeof env !== "function") return env;
	const given: unknown = env(slot);
	if (isEnv(given)) return given;
	throw new OptionsError({
		code: "INVALID_OPTION",
		message: `${kind.maker}: what "env" returned for slot ${slot.workerId} is not an object with string values.`,
	});
}

/** Read by OpenMP, OpenBLAS, MKL, BLIS, NumExpr and Apple's Accelerate. All but the last fall back on OpenMP's. */
const OPENMP = "OMP_NUM_THREADS";
const FALLING_BACK = [
	"OPENBLAS_NUM_THREADS",
	"MKL_NUM_THREADS",
	"BLIS_NUM_THREADS",
	"NUMEXPR_NUM_THREADS",
] as const;
const OTHERS = ["VECLIB_MAXIMUM_THREADS"] as const;

/** Threads for each worker, so that all slots together do not use more than the cores. */
export function fairThreads(parallelism: number, slots: number): number {
	return Math.max(1, Math.floor(parallelism / slots));
}

/**
 * The variables that limit the threads of numerical libraries, except those that the user has set, or that would
 * override one of the user's.
 */
export function threadLimits(
	threads: number,
	userEnv: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
	const ours =
		userEnv[OPENMP] === undefined
			? [OPENMP, ...FALLING_BACK, ...OTHERS]
			: OTHERS;
	return Object.fromEntries(
		ours
			.filter((name) => userEnv[name] === undefined)
			.map((name) => [name, String(threads)]),
	);
}

/** With fewer workers, the parent costs more than it saves. */
const LEAST_WORKERS = 4;

/** What the preloaded parent of a pool imports, if it has one. */
export function preloadChoice(
	{ preload, env }: Pick<ResolvedOptions, "preload" | "env">,
	workers: number,
	platform: NodeJS.Platform,
): ResolvedPreload | "off" {
	if (preload !== "auto") return preload;
	// A worker's own variables may be meant for its interpreter or linker, which read them only when a program is
	// executed.
	const isFor =
		platform === "linux" &&
		workers >= LEAST_WORKERS &&
		typeof env !== "function";
	return isFor ? BRIDGE_ALONE : "off";
}
