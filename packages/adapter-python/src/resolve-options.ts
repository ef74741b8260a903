import { env } from "node:process";
import { OptionsError } from "@snakepit/core";
import {
	aFunction,
	anObject,
	type Check,
	checkOptions,
	nonEmptyText,
	oneOf,
	optional,
	wholeNumber,
} from "@snakepit/core/options";
import { type AdapterKind, PYTHON } from "./adapter-kind.ts";
import {
	BRIDGE_ALONE,
	DEFAULTS,
	type HandleOptions,
	type PreloadOptions,
	type PythonOptions,
	type ResolvedOptions,
	type SharedMemoryOptions,
	type WatchOptions,
	type WorkerEnv,
} from "./options.ts";
import { absolute, isPath, isTools, resolveSources } from "./tool-sources.ts";

/** With less, error messages do not fit. */
const LEAST_MESSAGE_BYTES = 1024 * 1024;
/** With more, a Buffer cannot hold one message with its frame. */
const MOST_MESSAGE_BYTES = 2 ** 31 - 1;

/** A smaller message costs less than a file. */
const LEAST_SHARED_BYTES = 4096;

export const PYTHON_CHECKS: Readonly<Record<keyof PythonOptions, Check>> = {
	tools: isTools,
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
			: "must be an object with string values, or a function from the slot to one",
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
			: `must be an object of functions, and "${wrong}" is not one`;
	}),
	preload: optional((value) =>
		isPlainObject(value) ||
		oneOf("auto", "bridge", "tools", "off")(value) === undefined
			? undefined
			: 'must be "auto", "bridge", "tools", "off" or { modules }',
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
	watch: optional((value) =>
		typeof value === "boolean" || isPlainObject(value)
			? undefined
			: "must be true, false or { types }",
	),
	handles: optional(anObject),
	debug: optional((value) =>
		typeof value === "boolean" ||
		oneOf("socket", "debugpy")(value) === undefined
			? undefined
			: 'must be true, false, "socket" or "debugpy"',
	),
	opentelemetry: optional(oneOf("sdk", "auto")),
	logLevel: optional(oneOf("debug", "info", "warning", "error", "critical")),
};

export const PRELOAD_CHECKS: Readonly<Record<keyof PreloadOptions, Check>> = {
	modules: (value) =>
		Array.isArray(value) &&
		value.every((name) => nonEmptyText(name) === undefined)
			? undefined
			: "must be an array of names of modules",
};

export const WATCH_CHECKS: Readonly<Record<keyof WatchOptions, Check>> = {
	types: optional(isPath),
};

export const HANDLE_CHECKS: Readonly<Record<keyof HandleOptions, Check>> = {
	imports: optional(PRELOAD_CHECKS.modules),
	limit: optional(wholeNumber(1, 1_000_000)),
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
export function resolveOptions(
	given: PythonOptions,
	kind: AdapterKind = PYTHON,
): ResolvedOptions {
	const { maker } = kind;
	checkOptions(maker, given, PYTHON_CHECKS);
	if (given.python !== undefined && given.environment !== undefined) {
		throw new OptionsError({
			code: "INVALID_OPTION",
			message: `${maker}: "python" and "environment" both name an interpreter; give one of them.`,
		});
	}
	const { sources, path } = resolveSources(maker, given.tools);
	const debug = resolveDebug(maker, given.debug);
	return Object.freeze({
		tools: sources,
		toolPath: Object.freeze([...path, ...(given.toolPath ?? []).map(absolute)]),
		python: given.python?.includes("/") ? absolute(given.python) : given.python,
		environment: given.environment,
		env:
			typeof given.env === "function"
				? given.env
				: Object.freeze({ ...given.env }),
		cwd: given.cwd === undefined ? undefined : absolute(given.cwd),
		threadsPerWorker: given.threadsPerWorker,
		hostFunctions: new Map(Object.entries(given.hostFunctions ?? {})),
		kind,
		preload:
			debug === "off"
				? resolvePreload(maker, given.preload ?? DEFAULTS.preload)
				: "off",
		maxMessageBytes: given.maxMessageBytes ?? DEFAULTS.maxMessageBytes,
		streamCredit:
			given.streamCredit === undefined
				? DEFAULTS.streamCredit
				: { chunks: given.streamCredit, smallBytes: 0 },
		sharedMemory: resolveSharedMemory(maker, given.sharedMemory),
		handles: resolveHandles(maker, given.handles),
		opentelemetry: given.opentelemetry ?? DEFAULTS.opentelemetry,
		logLevel: given.logLevel ?? DEFAULTS.logLevel,
		watch: resolveWatch(maker, given.watch),
		debug,
	});
}

function resolvePreload(
	maker: string,
	given: NonNullable<PythonOptions["preload"]>,
): ResolvedOptions["preload"] {
	if (given === "auto" || given === "off") return given;
	if (given === "bridge") return BRIDGE_ALONE;
	if (given === "tools") return { modules: [], tools: "imported" };
	checkOptions(`${maker} preload`, given, PRELOAD_CHECKS);
	return Object.freeze({
		modules: Object.freeze([...given.modules]),
		tools: "left",
	});
}

function resolveHandles(
	maker: string,
	given: HandleOptions | undefined,
): ResolvedOptions["handles"] {
	if (given === undefined) return undefined;
	checkOptions(`${maker} handles`, given, HANDLE_CHECKS);
	const { imports, limit } = DEFAULTS.handles;
	return Object.freeze({
		imports: Object.freeze([...(given.imports ?? imports)]),
		limit: given.limit ?? limit,
	});
}

function resolveSharedMemory(
	maker: string,
	given: PythonOptions["sharedMemory"],
): ResolvedOptions["sharedMemory"] {
	if (given === "off") return given;
	checkOptions(`${maker} sharedMemory`, given ?? {}, SHARED_MEMORY_CHECKS);
	const { fromBytes, limitBytes } = DEFAULTS.sharedMemory;
	return Object.freeze({
		fromBytes: given?.fromBytes ?? fromBytes,
		limitBytes: given?.limitBytes ?? limitBytes,
	});
}

/** A development server sets `NODE_ENV`, and its user expects saved code to run. Nothing else watches files by default. */
function resolveWatch(
	maker: string,
	given: PythonOptions["watch"] = env["NODE_ENV"] === "development",
): ResolvedOptions["watch"] {
	if (given === false) return "off";
	const options = given === true ? {} : given;
	checkOptions(`${maker} watch`, options, WATCH_CHECKS);
	const { types } = options;
	return Object.freeze({
		types: types === undefined ? undefined : absolute(types),
	});
}

function resolveDebug(
	maker: string,
	given: PythonOptions["debug"] = false,
): ResolvedOptions["debug"] {
	if (given === false) return "off";
	if (env["NODE_ENV"] === "production") {
		throw new OptionsError({
			code: "INVALID_OPTION",
			message: `${maker}: "debug" is not allowed when NODE_ENV is production, because the pool would have one worker and no deadlines. Set it only in development.`,
		});
	}
	return given === true ? "terminal" : given;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
	return (
		typeof value === "object" &&
		value !== null &&
		!Array.isArray(value) &&
		!(value instanceof URL)
	);
}

/** An object with string values; `undefined` removes a variable. */
export function isEnv(value: unknown): value is WorkerEnv {
	return (
		isPlainObject(value) &&
		Object.values(value).every(
			(item) => item === undefined || typeof item === "string",
		)
	);
}
