import { createHash } from "node:crypto";
import { existsSync, lstatSync, readFileSync, statSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { StartError } from "@snakepit/core";
import { anyWorkingDirectory } from "@snakepit/core/adapter";
import { makeDirectories } from "@snakepit/core/infrastructure";
import {
	type Check,
	checkOptions,
	milliseconds,
	nonEmptyText,
	optional,
} from "@snakepit/core/options";
import { chooseInterpreter } from "../interpreter/choose-interpreter.ts";
import type { Choice, InterpreterFacts } from "../interpreter/interpreter.ts";
import {
	namedSource,
	pythonOf,
	systemSources,
} from "../interpreter/interpreter-sources.ts";
import type {
	PythonStartError,
	PythonStartErrorCode,
} from "../start-error-codes.ts";
import { fittingBridge } from "../worker/worker-facts.ts";
import { build } from "./builder.ts";

/**
 * The directory that holds the environments: the given one; otherwise in the user's cache; or, if the home directory
 * cannot be written, in the temporary directory.
 *
 * @throws Error if it cannot be created, or another user could put programs into it.
 */
function environmentsDirectory(
	directory: string | undefined,
	env: Readonly<Record<string, string | undefined>>,
): string {
	if (directory !== undefined) return ownDirectory(directory);
	try {
		return cacheDirectory("environments", env);
	} catch {
		return ownDirectory(
			join(tmpdir(), `snakepit-environments-${userInfo().uid}`),
		);
	}
}

/**
 * A directory of the user's cache.
 *
 * @throws Error if it cannot be created, or another user could write to it.
 */
export function cacheDirectory(
	name: "environments" | "interpreters",
	env: Readonly<Record<string, string | undefined>>,
): string {
	const cache = env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
	return ownDirectory(join(cache, "snakepit", name));
}

function ownDirectory(directory: string): string {
	makeDirectories(directory, 0o700);
	const facts = lstatSync(directory);
	// Its content is executed: no other user may write to it.
	if (
		!facts.isDirectory() ||
		facts.uid !== userInfo().uid ||
		(facts.mode & 0o022) !== 0
	) {
		throw new Error(
			`${directory} must be a directory of this user that no other user can write to`,
		);
	}
	return directory;
}

/** Changes when environments are created in a new way. */
const FORMAT = 1;

/** The kind of a requirement for pip. */
export type Requirement =
	/** As pip reads it. */
	| { readonly kind: "named"; readonly text: string }
	/** A directory with a project: installed editable, so that its current code is used. */
	| {
			readonly kind: "directory";
			readonly path: string;
			/** `[grpc]` of `../python[grpc]`, or empty. */
			readonly extras: string;
			readonly metadata: string;
	  };

const METADATA_FILES = ["pyproject.toml", "setup.cfg", "setup.py"] as const;

/** The part before the extras, and the extras. */
const EXTRAS = /^(.*?)(\[[^[\]]*\])$/;

/** Tells directories from requirements that pip looks up. */
export function readRequirement(text: string): Requirement {
	const [, directory = text, extras = ""] = EXTRAS.exec(text) ?? [];
	if (!isDirectory(directory))
		return { kind: "named", text: releaseRequirement(text) };
	// The files that determine its dependencies; its code does not change the environment.
	const metadata = METADATA_FILES.map((file) =>
		textOf(join(directory, file)),
	).join("\0");
	return { kind: "directory", path: resolve(directory), extras, metadata };
}

/** Names an environment by its content: 16 hexadecimal digits. */
export function environmentKey(
	requirements: readonly Requirement[],
	interpreter: Pick<InterpreterFacts, "executable" | "version">,
): string {
	const texts = requirements
		.map((requirement) => JSON.stringify(requirement))
		.sort();
	const { executable, version } = interpreter;
	return createHash("sha256")
		.update(
			JSON.stringify([
				FORMAT,
				texts,
				executable,
				version,
				process.platform,
				process.arch,
			]),
		)
		.digest("hex")
		.slice(0, 16);
}

/** The arguments of `pip install`. */
export function installArguments(
	requirements: readonly Requirement[],
): readonly string[] {
	return requirements.flatMap((requirement) =>
		requirement.kind === "named"
			? [requirement.text]
			: ["--editable", `${requirement.path}${requirement.extras}`],
	);
}

function isDirectory(path: string): boolean {
	return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function textOf(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return "";
	}
}

/** The bridge by its name alone, perhaps with extras. Source: PyPA's dependency specifiers. */
const BARE = /^\s*snakepit[-_.]+bridge\s*(\[[^\]]*\])?\s*$/i;

/**
 * What to install for a requirement. The bridge without a version becomes the version that belongs to this package, so
 * an update of this package creates a new environment. Other requirements do not change.
 */
function releaseRequirement(text: string): string {
	const match = BARE.exec(text);
	if (match === null) return text;
	const [name = "", version = ""] = fittingBridge().split("==");
	return `${name}${match[1] ?? ""}==${version}`;
}

/** What a virtual environment contains, and where it is. */
export interface PythonEnvironmentOptions {
	/**
	 * What to install, as for `pip install`: `"scikit-learn>=1.5"`; a directory is installed editable. A pool needs
	 * `snakepit-bridge`: by name, or as a directory, file or URL. By name without a version, it is the version that
	 * matches this package.
	 */
	readonly requirements: readonly string[];
	/** The interpreter to create it with, by path or name; by default uv's choice, then `python3`. */
	readonly python?: string | undefined;
	/** Where environments are kept, each in its own directory; by default `snakepit/environments` in the user's cache. */
	readonly directory?: string | undefined;
	/**
	 * How long creating it may take, including the wait for another program that is creating it.
	 * @default 900 000 ms (15 min)
	 */
	readonly buildTimeoutMs?: number | undefined;
}

/** A virtual environment that is created when it is needed. */
export interface PythonEnvironment {
	/** The given requirements; `undefined` if they are not known before it is created. */
	readonly requirements?: readonly string[] | undefined;
	/** The given interpreter, if there is one. */
	readonly python?: string | undefined;
	/** The given directory for environments, if there is one. */
	readonly directory?: string | undefined;
	/**
	 * Creates it, unless it exists. Two simultaneous calls, even in two programs, get the same one, created once.
	 *
	 * @throws StartError `ENVIRONMENT_FAILED` with the last output of pip, `PYTHON_NOT_FOUND`, `PYTHON_TOO_OLD`; the signal's reason.
	 */
	make(signal?: AbortSignal): Promise<MadeEnvironment>;
}

/** A virtual environment with all its requirements. */
export interface MadeEnvironment {
	/** Its interpreter. */
	readonly python: string;
	readonly directory: string;
	/** Names its requirements and its Python: the same for equal requirements. */
	readonly key: string;
	/** Whether it existed already. */
	readonly reused: boolean;
}

/** Defaults, with their reasons. */
export const ENVIRONMENT_DEFAULTS = {
	buildTimeoutMs: {
		value: 900_000,
		reason:
			"enough for a scientific stack of several gigabytes over a slow connection",
	},
} as const;
/** Lines of pip's output in an error. */
const SHOWN_LINES = 20;

export const ENVIRONMENT_CHECKS: Readonly<
	Record<keyof PythonEnvironmentOptions, Check>
> = {
	requirements: (value) =>
		Array.isArray(value) &&
		value.every(
			(item) => nonEmptyText(item) === undefined && !item.startsWith("-"),
		)
			? undefined
			: "must be an array of requirements; for an index of your own set PIP_INDEX_URL or UV_INDEX_URL",
	python: optional(nonEmptyText),
	directory: optional(nonEmptyText),
	buildTimeoutMs: optional(milliseconds(1_000)),
};

/**
 * Describes a virtual environment by its content. It is created when a pool that uses it starts, or by `make()`; with
 * uv if that is installed, otherwise with venv and pip.
 *
 * @throws OptionsError
 */
export function pythonEnvironment(
	options: PythonEnvironmentOptions,
): PythonEnvironment {
	checkOptions("pythonEnvironment", options, ENVIRONMENT_CHECKS);
	const { python, directory } = options;
	const buildTimeoutMs =
		options.buildTimeoutMs ?? ENVIRONMENT_DEFAULTS.buildTimeoutMs.value;
	const texts = Object.freeze([...options.requirements]);
	return Object.freeze({
		requirements: texts,
		python,
		directory,
		async make(
			signal: AbortSignal = new AbortController().signal,
		): Promise<MadeEnvironment> {
			const setting = { env: process.env, cwd: anyWorkingDirectory() };
			const sources =
				python === undefined
					? systemSources(setting)
					: [
							namedSource(
								python,
								'pythonEnvironment() was given it as "python"',
								setting,
							),
						];
			const base = await chooseInterpreter(sources, setting, signal);
			const requirements = texts.map(readRequirement);
			const key = environmentKey(requirements, base);
			const location = join(parentDirectory(directory), key);
			const result = { python: pythonOf(location), directory: location, key };
			if (isComplete(location)) return { ...result, reused: true };
			const order = {
				directory: location,
				install: installArguments(requirements),
			};
			const outcome = await build(base.program, order, buildTimeoutMs, signal);
			if (outcome.kind === "failed")
				throw buildFailed(base, texts, outcome.problem, outcome.output);
			return { ...result, reused: !outcome.made };
		},
	});
}

/** The mark is written last. */
function isComplete(directory: string): boolean {
	return (
		existsSync(join(directory, "snakepit-environment.json")) &&
		existsSync(pythonOf(directory))
	);
}

function parentDirectory(given: string | undefined): string {
	try {
		return environmentsDirectory(given, process.env);
	} catch (cause) {
		throw new StartError<PythonStartErrorCode>({
			code: "ENVIRONMENT_FAILED",
			message: `There is no directory for Python environments: ${cause instanceof Error ? cause.message : String(cause)}. Set one with the option "directory" of pythonEnvironment().`,
			cause,
		});
	}
}

function buildFailed(
	base: Choice,
	requirements: readonly string[],
	problem: string,
	output: string,
): PythonStartError {
	const lines = output.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
	return new StartError<PythonStartErrorCode>({
		code: "ENVIRONMENT_FAILED",
		message: `The Python environment with ${requirements.join(", ") || "nothing in it"} could not be created with Python ${base.version.join(".")} at ${base.program}: ${problem}${lines === "" ? "." : `:\n${lines}`}`,
	});
}
