import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
	aFunction,
	type Check,
	checkOptions,
	nonEmptyText,
	OptionsError,
	oneOf,
	optional,
	type Seat,
	wholeNumber,
} from "@snakepit/core";
import type { StreamCredit } from "./conversation/credit-window.ts";
import type { HostFunction } from "./conversation/host-functions.ts";
import type { PythonEnvironment } from "./environment/python-environment.ts";

/** Variables laid over those of the host; `undefined` removes one. */
export type WorkerEnv = Readonly<Record<string, string | undefined>>;

/** How frames travel between this program and its workers. */
export type Transport = "grpc" | "framed";

/** Python workers: what they execute, in which interpreter and surroundings, and how values and frames reach them. */
export interface PythonGrpcOptions {
	/** The tools: path or URL of a `.py` file, or a module and where to look for it. Relative paths begin at the working directory of this program. */
	readonly tools:
		| string
		| URL
		| { readonly module: string; readonly path?: string | URL };
	/** Directories put in front of Python's module path, in order. */
	readonly toolPath?: readonly (string | URL)[];
	/** The interpreter, by path or by name; by default the first of `VIRTUAL_ENV`, `.venv`, uv's choice and `python3`. Not together with `environment`. */
	readonly python?: string;
	/** What `pythonEnvironment()` describes; it is made when the pool starts. */
	readonly environment?: PythonEnvironment;
	/** Variables laid over those of this program, `undefined` to remove one; a function gets the seat, so that each worker can have a GPU of its own. */
	readonly env?: WorkerEnv | ((seat: Seat) => WorkerEnv);
	/** Working directory of the workers; by default that of this program. */
	readonly cwd?: string;
	/** How many threads numerical libraries may use in each worker. `"inherit"` sets nothing. By default the cores are shared out among the workers; the calls of one worker share its threads. */
	readonly threadsPerWorker?: number | "inherit";
	/** Functions of this program that tools may call by name. */
	readonly hostFunctions?: Readonly<Record<string, HostFunction>>;
	/** How frames travel on the worker's private socket: `"grpc"`, which anything that speaks gRPC can probe, or `"framed"`, the same frames without gRPC, faster and lighter. */
	readonly transport?: Transport;
	/**
	 * One process imports what all workers need and forks them from there (Linux):
	 * `true` with the tools, or the modules that are named, and then each worker
	 * imports the tools itself. Where that is unsafe, workers start by themselves,
	 * and `preload.unavailable` says why.
	 */
	readonly preload?: boolean | PreloadOptions;
	/** The longest message, in each direction; longer arguments are `MESSAGE_TOO_LARGE`, a longer result is `RESULT_TOO_LARGE`. */
	readonly maxMessageBytes?: number;
	/**
	 * How many chunks of a stream may be on the way to a slow consumer. Where it is
	 * given, small chunks count like large ones.
	 */
	readonly streamCredit?: number;
	/**
	 * Arrays and bytes that are large are handed over in shared memory (Linux),
	 * where numpy sees them without a copy. `"off"`: everything is sent.
	 */
	readonly sharedMemory?: SharedMemoryOptions | "off";
	/** Records of Python's `logging` below it are not sent. */
	readonly logLevel?: "debug" | "info" | "warning" | "error" | "critical";
}

/** What a preloaded parent imports. */
export interface PreloadOptions {
	/** Names of Python modules; the bridge is always among them. */
	readonly modules: readonly string[];
}

/** Values in shared memory. */
export interface SharedMemoryOptions {
	/** An array or bytes of this size or more are shared; in the chunks of a stream, from a quarter of it. */
	readonly fromBytes?: number;
	/** What one value may take; a larger one is sent, as far as `maxMessageBytes` allows. */
	readonly limitBytes?: number;
}

/** The options, complete. */
export interface ResolvedOptions {
	readonly tools: { readonly module: string } | { readonly file: string };
	readonly toolPath: readonly string[];
	readonly python: string | undefined;
	readonly environment: PythonEnvironment | undefined;
	readonly env: WorkerEnv | ((seat: Seat) => WorkerEnv);
	readonly cwd: string | undefined;
	readonly threadsPerWorker: number | "inherit" | undefined;
	readonly hostFunctions: ReadonlyMap<string, HostFunction>;
	readonly transport: Transport;
	readonly preload: ResolvedPreload | "off";
	readonly maxMessageBytes: number;
	readonly streamCredit: StreamCredit;
	readonly sharedMemory: Required<SharedMemoryOptions> | "off";
	readonly logLevel: NonNullable<PythonGrpcOptions["logLevel"]>;
}

/** What a preloaded parent imports besides the bridge. */
export interface ResolvedPreload {
	readonly modules: readonly string[];
	readonly tools: "imported" | "left";
}

/** What is not given. */
export const DEFAULTS: Readonly<
	Pick<
		ResolvedOptions,
		"transport" | "maxMessageBytes" | "streamCredit" | "logLevel"
	> & {
		readonly preload: boolean;
		readonly sharedMemory: Required<SharedMemoryOptions>;
	}
> = {
	/** The contract: probes and tools of others understand it. */
	transport: "grpc",
	/** What runs at import would run once: that is for the author of the tools to say. */
	preload: false,
	/** Holds an uncompressed 4K image or 8 million doubles; a few copies of it on both sides still fit a small machine. */
	maxMessageBytes: 64 * 1024 * 1024,
	/**
	 * Keeps both sides busy at a fraction of a millisecond for the way there and back, and is little to throw away. Small
	 * chunks are worth their way only many at a time.
	 */
	streamCredit: { chunks: 16, smallBytes: 64 * 1024 },
	/** From where a file is cheaper than a message; and as much as a machine can miss for a moment. */
	sharedMemory: { fromBytes: 128 * 1024, limitBytes: 1024 ** 3 },
	/** What a person would want to see of a service that runs. */
	logLevel: "info",
};

/** Below it not even the messages of errors fit. */
const LEAST_MESSAGE_BYTES = 1024 * 1024;
/** Past it a Buffer cannot hold one message together with its frame. */
const MOST_MESSAGE_BYTES = 2 ** 31 - 1;

/** A file costs more than a message of so few bytes. */
const LEAST_SHARED_BYTES = 4096;

const isPath: Check = (value) =>
	value instanceof URL
		? value.protocol === "file:"
			? undefined
			: "must be a file: URL"
		: nonEmptyText(value) === undefined
			? undefined
			: "must be a path or a file: URL";

export const PYTHON_GRPC_CHECKS: Readonly<
	Record<keyof PythonGrpcOptions, Check>
> = {
	tools: (value) =>
		isPlainObject(value)
			? (nonEmptyText(value["module"]) ?? optional(isPath)(value["path"])) ===
				undefined
				? undefined
				: "must have a module, and a path where it is not installed"
			: isPath(value) === undefined
				? undefined
				: "must be a path or a file: URL of a .py file, or { module }",
	toolPath: optional((value) =>
		Array.isArray(value) && value.every((item) => isPath(item) === undefined)
			? undefined
			: "must be an array of paths or file: URLs",
	),
	python: optional(nonEmptyText),
	environment: optional((value) =>
		isPlainObject(value) && aFunction(value["make"]) === undefined
			? undefined
			: "must be what pythonEnvironment() returns",
	),
	env: optional((value) =>
		aFunction(value) === undefined || isEnv(value)
			? undefined
			: "must be an object of texts, or a function from the seat to one",
	),
	cwd: optional(nonEmptyText),
	threadsPerWorker: optional((value) =>
		oneOf("inherit")(value) === undefined
			? undefined
			: wholeNumber(1, 1024)(value),
	),
	hostFunctions: optional((value) => {
		if (!isPlainObject(value)) return "must be an object of functions";
		const wrong = Object.keys(value).find(
			(name) => typeof value[name] !== "function",
		);
		return wrong === undefined
			? undefined
			: `must be an object of functions, and "${wrong}" is none`;
	}),
	transport: optional(oneOf("grpc", "framed")),
	preload: optional((value) =>
		typeof value === "boolean" || isPlainObject(value)
			? undefined
			: "must be true, false or { modules }",
	),
	maxMessageBytes: optional(
		wholeNumber(LEAST_MESSAGE_BYTES, MOST_MESSAGE_BYTES),
	),
	streamCredit: optional(wholeNumber(1, 65_536)),
	sharedMemory: optional((value) =>
		value === "off" || isPlainObject(value)
			? undefined
			: 'must be an object, or "off"',
	),
	logLevel: optional(oneOf("debug", "info", "warning", "error", "critical")),
};

export const PRELOAD_CHECKS: Readonly<Record<keyof PreloadOptions, Check>> = {
	modules: (value) =>
		Array.isArray(value) &&
		value.every((name) => nonEmptyText(name) === undefined)
			? undefined
			: "must be an array of names of modules",
};

export const SHARED_MEMORY_CHECKS: Readonly<
	Record<keyof SharedMemoryOptions, Check>
> = {
	fromBytes: optional(wholeNumber(LEAST_SHARED_BYTES)),
	limitBytes: optional(wholeNumber(0, MOST_MESSAGE_BYTES)),
};

/**
 * Checks and completes the options.
 *
 * @throws OptionsError
 */
export function resolveOptions(given: PythonGrpcOptions): ResolvedOptions {
	checkOptions("pythonGrpc", given, PYTHON_GRPC_CHECKS);
	if (given.python !== undefined && given.environment !== undefined) {
		throw new OptionsError({
			code: "INVALID_OPTION",
			ran: "no",
			message:
				'pythonGrpc: "python" and "environment" both name an interpreter; give one of them.',
		});
	}
	const { tools } = given;
	const isModule = typeof tools === "object" && !(tools instanceof URL);
	const besideModule =
		isModule && tools.path !== undefined ? [absolute(tools.path)] : [];
	return Object.freeze({
		tools: Object.freeze(
			isModule ? { module: tools.module } : { file: absolute(tools) },
		),
		toolPath: Object.freeze([
			...besideModule,
			...(given.toolPath ?? []).map(absolute),
		]),
		python: given.python,
		environment: given.environment,
		env:
			typeof given.env === "function"
				? given.env
				: Object.freeze({ ...given.env }),
		cwd: given.cwd === undefined ? undefined : absolute(given.cwd),
		threadsPerWorker: given.threadsPerWorker,
		hostFunctions: new Map(Object.entries(given.hostFunctions ?? {})),
		transport: given.transport ?? DEFAULTS.transport,
		preload: resolvePreload(given.preload ?? DEFAULTS.preload),
		maxMessageBytes: given.maxMessageBytes ?? DEFAULTS.maxMessageBytes,
		streamCredit:
			given.streamCredit === undefined
				? DEFAULTS.streamCredit
				: { chunks: given.streamCredit, smallBytes: 0 },
		sharedMemory: resolveSharedMemory(given.sharedMemory),
		logLevel: given.logLevel ?? DEFAULTS.logLevel,
	});
}

function resolvePreload(
	given: NonNullable<PythonGrpcOptions["preload"]>,
): ResolvedOptions["preload"] {
	if (given === false) return "off";
	if (given === true) return { modules: [], tools: "imported" };
	checkOptions("pythonGrpc preload", given, PRELOAD_CHECKS);
	return Object.freeze({
		modules: Object.freeze([...given.modules]),
		tools: "left",
	});
}

function resolveSharedMemory(
	given: PythonGrpcOptions["sharedMemory"],
): ResolvedOptions["sharedMemory"] {
	if (given === "off") return given;
	checkOptions("pythonGrpc sharedMemory", given ?? {}, SHARED_MEMORY_CHECKS);
	return Object.freeze({ ...DEFAULTS.sharedMemory, ...given });
}

function absolute(path: string | URL): string {
	return path instanceof URL ? fileURLToPath(path) : resolve(path);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
	return (
		typeof value === "object" &&
		value !== null &&
		!Array.isArray(value) &&
		!(value instanceof URL)
	);
}

/** An object of texts; `undefined` removes a variable. */
export function isEnv(value: unknown): value is WorkerEnv {
	return (
		isPlainObject(value) &&
		Object.values(value).every(
			(item) => item === undefined || typeof item === "string",
		)
	);
}
