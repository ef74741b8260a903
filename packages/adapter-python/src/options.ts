import type { WorkerSlot } from "@snakepit/core/adapter";
import type { Complete } from "@snakepit/core/options";
import type { AdapterKind } from "./adapter-kind.ts";
import type { StreamCredit } from "./conversation/chunk-stream.ts";
import type { HostFunction } from "./conversation/host-functions.ts";
import type { PythonEnvironment } from "./environment/python-environment.ts";

/** Variables laid over those of the host; `undefined` removes one. */
export type WorkerEnv = Readonly<Record<string, string | undefined>>;

/** Python workers: what they execute, in which interpreter and environment, and how values reach them. */
export interface PythonOptions {
	/**
	 * The tools: path or `file:` URL of a `.py` file, or a module and where to find it, or several of these. Relative
	 * paths are resolved against this program's working directory.
	 */
	readonly tools: string | URL | ToolSource | readonly ToolSource[];
	/** Directories put in front of Python's module path, in order. */
	readonly toolPath?: readonly (string | URL)[] | undefined;
	/**
	 * The interpreter, or a wrapper script that runs one, by path or by name in `PATH`. By default the first of
	 * `VIRTUAL_ENV`, `.venv`, uv's choice and `python3`. Cannot be combined with `environment`.
	 */
	readonly python?: string | undefined;
	/** The result of `pythonEnvironment()`; it is created when the pool starts. */
	readonly environment?: PythonEnvironment | undefined;
	/**
	 * Environment variables to add to those of this program; `undefined` removes one. A function gets the slot, so that
	 * each worker can have its own GPU.
	 */
	readonly env?: WorkerEnv | ((slot: WorkerSlot) => WorkerEnv) | undefined;
	/** Working directory of the workers; by default, this program's. */
	readonly cwd?: string | undefined;
	/**
	 * How many threads numerical libraries may use in each worker. `"inherit"` sets nothing. By default, the cores are
	 * divided among the workers; the calls of one worker share its threads.
	 */
	readonly threadsPerWorker?: number | "inherit" | undefined;
	/** Functions of this program that tools may call by name. */
	readonly hostFunctions?: Readonly<Record<string, HostFunction>> | undefined;
	/**
	 * A parent process imports modules once and forks the workers (Linux). `"bridge"`: it imports only the bridge.
	 * `"tools"`: also the tools. `{ modules }`: the bridge and these modules; each worker then imports the tools. If
	 * forking is unsafe, workers start without the parent, and `preload.unavailable` says why. `"auto"` is `"bridge"` on
	 * Linux for pools of four or more workers whose `env` is not a function, otherwise `"off"`.
	 * @default "auto"
	 */
	readonly preload?:
		| "auto"
		| "bridge"
		| "tools"
		| "off"
		| PreloadOptions
		| undefined;
	/** The longest message, in each direction; longer arguments are `MESSAGE_TOO_LARGE`, a longer result is `RESULT_TOO_LARGE`. @default 67 108 864 bytes (64 MiB) */
	readonly maxMessageBytes?: number | undefined;
	/**
	 * How many chunks of a stream may be in transit to a slow consumer. If you set it, small chunks count like large
	 * ones.
	 * @default 16, and more of small ones, as long as all together have less than 65 536 bytes (64 KiB)
	 */
	readonly streamCredit?: number | undefined;
	/**
	 * Large arrays and bytes are passed in shared memory (Linux), where numpy reads them without a copy. `"off"`:
	 * everything is sent over the connection.
	 */
	readonly sharedMemory?: SharedMemoryOptions | "off" | undefined;
	/**
	 * Replaces the workers when a file that they have loaded is saved: each new worker is ready before the old one is
	 * stopped, and running calls finish. If the new workers cannot be started, the old ones stay. `types` also keeps the
	 * TypeScript types of the tools up to date. By default `true` if `NODE_ENV` is `development`.
	 */
	readonly watch?: boolean | WatchOptions | undefined;
	/**
	 * Allows handles: references to objects that stay in the worker, for use in calls of the same session. Off by default.
	 */
	readonly handles?: HandleOptions | undefined;
	/**
	 * Makes `breakpoint()` in a tool open a debugger. `true`: `pdb` in the terminal of this program, or on a private Unix
	 * socket if standard input is not a terminal. `"socket"`: always on the socket. `"debugpy"`: an editor, through a
	 * random port of 127.0.0.1, where any user of this machine can run code. The pool then has one worker for one call at
	 * a time, no heartbeat, and no deadline for starts, calls, cancels and stops. Refused if `NODE_ENV` is `production`.
	 * By default `false`.
	 */
	readonly debug?: boolean | "socket" | "debugpy" | undefined;
	/**
	 * What a worker does with OpenTelemetry besides the spans of its tools. `"sdk"`: it configures an SDK if `OTEL_*`
	 * variables ask for one. `"auto"`: it also runs the installed instrumentors, such as those of requests or SQLAlchemy, as
	 * `opentelemetry-instrument` does. `OTEL_PYTHON_DISABLED_INSTRUMENTATIONS` leaves some out.
	 * @default "sdk"
	 */
	readonly opentelemetry?: "sdk" | "auto" | undefined;
	/** Records of Python's `logging` below this level are not sent. @default "info" */
	readonly logLevel?:
		| "debug"
		| "info"
		| "warning"
		| "error"
		| "critical"
		| undefined;
}

/** Where to find tools: a module or a file. */
export interface ToolSource {
	/** A Python module, by name. */
	readonly module?: string | undefined;
	/** The directory that contains the module, if it is not installed. */
	readonly path?: string | URL | undefined;
	/** Path or `file:` URL of a `.py` file, instead of a module. */
	readonly file?: string | URL | undefined;
	/**
	 * Names of undecorated functions to use as tools, for example `["sqrt"]` of the module `math`. Then nothing else in
	 * the module is a tool. By default, the tools that the module declares.
	 */
	readonly expose?: readonly string[] | undefined;
}

/** What happens after a reload. */
export interface WatchOptions {
	/**
	 * The file for the TypeScript types of the tools, as written by `python -m snakepit_bridge types --output`: updated
	 * when the pool starts and after each reload.
	 */
	readonly types?: string | URL | undefined;
}

/** What a preloaded parent imports. */
export interface PreloadOptions {
	/** Names of Python modules, in addition to the bridge. */
	readonly modules: readonly string[];
}

/** Values in shared memory. */
export interface SharedMemoryOptions {
	/**
	 * Arrays and bytes of this size or more are shared; in chunks of a stream, a quarter of it is enough.
	 * @default 131 072 bytes (128 KiB)
	 */
	readonly fromBytes?: number | undefined;
	/**
	 * The limit for one value; a larger one is sent over the connection, if `maxMessageBytes` allows it.
	 * @default 1 073 741 824 bytes (1 GiB)
	 */
	readonly limitBytes?: number | undefined;
}

/** Where tools are, absolute. */
export type ResolvedSource = (
	| { readonly module: string }
	| { readonly file: string }
) & { readonly expose?: readonly string[] };

/**
 * What handles may do. TypeScript may use methods and attributes of the objects, except names that begin with an
 * underscore.
 */
export interface HandleOptions {
	/** Names of modules that `importModule` may import, including their submodules. @default [] */
	readonly imports?: readonly string[] | undefined;
	/** How many objects one session may hold. @default 1 000 */
	readonly limit?: number | undefined;
}

/** The options, complete. */
export interface ResolvedOptions {
	readonly tools: readonly ResolvedSource[];
	readonly toolPath: readonly string[];
	readonly python: string | undefined;
	readonly environment: PythonEnvironment | undefined;
	readonly env: WorkerEnv | ((slot: WorkerSlot) => WorkerEnv);
	readonly cwd: string | undefined;
	readonly threadsPerWorker: number | "inherit" | undefined;
	/** A pool that is kept while its module is loaded again gets those of the latest load. */
	readonly hostFunctions: Map<string, HostFunction>;
	/** What takes the options, and how frames travel. */
	readonly kind: AdapterKind;
	readonly preload: ResolvedPreload | "auto" | "off";
	readonly maxMessageBytes: number;
	readonly streamCredit: StreamCredit;
	readonly sharedMemory: Complete<SharedMemoryOptions> | "off";
	readonly handles: Complete<HandleOptions> | undefined;
	readonly opentelemetry: NonNullable<PythonOptions["opentelemetry"]>;
	readonly logLevel: NonNullable<PythonOptions["logLevel"]>;
	readonly watch: { readonly types: string | undefined } | "off";
	readonly debug: "terminal" | "socket" | "debugpy" | "off";
}

/** What a preloaded parent imports besides the bridge. */
export interface ResolvedPreload {
	readonly modules: readonly string[];
	readonly tools: "imported" | "left";
}

/** Nothing that the user wrote. */
export const BRIDGE_ALONE: ResolvedPreload = Object.freeze({
	modules: Object.freeze([]),
	tools: "left",
});

/** What is not given. */
export const DEFAULTS: Readonly<
	Pick<
		ResolvedOptions,
		"maxMessageBytes" | "streamCredit" | "opentelemetry" | "logLevel"
	> & {
		readonly preload: "auto" | "tools";
		readonly sharedMemory: Complete<SharedMemoryOptions>;
		readonly handles: Complete<HandleOptions>;
	}
> = {
	/**
	 * `"tools"` would run import-time code once instead of once per worker: only the author of the tools can decide that.
	 */
	preload: "auto",
	/** Holds an uncompressed 4K image or 8 million doubles; a few copies of it on both sides still fit a small machine. */
	maxMessageBytes: 64 * 1024 * 1024,
	/**
	 * Enough to keep both sides busy, and little to throw away. Small chunks are efficient only if many are in transit.
	 */
	streamCredit: { chunks: 16, smallBytes: 64 * 1024 },
	/** From this size on, a file is cheaper than a message; and a machine can spare this much for a moment. */
	sharedMemory: { fromBytes: 128 * 1024, limitBytes: 1024 ** 3 },
	/** More objects are most likely a loop that forgets to release; no module is safe for every program. */
	handles: { imports: [], limit: 1000 },
	/** Instrumentors patch libraries that the tools use: only their author can decide that. */
	opentelemetry: "sdk",
	/** What is usually interesting in a running service. */
	logLevel: "info",
};

/** The options that workers depend on. The functions of this program are left out, because loading a module again creates new ones. */
export function comparedOptions(options: ResolvedOptions): unknown {
	const { hostFunctions, kind, environment, ...rest } = options;
	const { requirements, python, directory } = environment ?? {};
	return {
		...rest,
		transport: kind.transport.name,
		hostFunctions: [...hostFunctions.keys()].sort(),
		environment:
			requirements === undefined
				? environment
				: { requirements, python, directory },
	};
}
