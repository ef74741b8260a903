import { PROGRAM_CHECKS, type ProgramOptions } from "@snakepit/core/adapter";
import {
	type Check,
	checkOptions,
	oneOf,
	optional,
	wholeNumber,
} from "@snakepit/core/options";
import type { BodyKind } from "./result.ts";

/** A line that the program prints, on standard output or standard error. */
export interface PrintedLine {
	readonly fromLine: RegExp;
}

/** How a program serves HTTP. Also takes the options of `ProgramOptions`. */
export interface HttpOptions extends ProgramOptions {
	/**
	 * Where the program listens. `"unix"`: on the Unix socket that stands for `{socket}` in `command` or `env`, in the
	 * worker's private directory. `"inherited"`: on such a socket that listens before the program begins, as the descriptor
	 * that stands for `{fd}`. `"tcp"`: on the port of 127.0.0.1 that stands for `{port}`. `{ fromLine }`: on the port
	 * of 127.0.0.1 or ::1 that a line of its output names, in a group `url` or `port`. Every local user can connect to a
	 * port. That the worker listens there is proven, on Linux, and elsewhere ports are refused.
	 * @default "unix"
	 */
	readonly listen?: "unix" | "inherited" | "tcp" | PrintedLine | undefined;
	/**
	 * When the program takes calls: when `GET` of this path is answered with 2xx, or with the line. By default: when it
	 * answers `HEAD /` with any status.
	 */
	readonly ready?: string | PrintedLine | undefined;
	/**
	 * A path that the heartbeat requests; the worker is healthy if the answer is 2xx, also while calls run. By default,
	 * the heartbeat checks only the process.
	 */
	readonly health?: string | undefined;
	/** How responses are read; `"auto"`: by their `content-type`. @default "auto" */
	readonly body?: "auto" | BodyKind | undefined;
	/**
	 * When a worker has finished with a call that was cancelled, by closing its connection. `"answered"`: when it answers
	 * another request. `"unknown"`: never for certain, so it takes no more calls and is replaced.
	 * @default "answered"
	 */
	readonly cancelled?: "answered" | "unknown" | undefined;
	/** The longest body of a request, response without `pool.stream`, or item of a stream. @default 67 108 864 bytes (64 MiB) */
	readonly maxMessageBytes?: number | undefined;
}

export const HTTP_DEFAULTS = {
	listen: "unix",
	body: "auto",
	cancelled: "answered",
	maxMessageBytes: 67_108_864,
} as const;

const aPath: Check = (value) =>
	typeof value === "string" && value.startsWith("/")
		? undefined
		: "must be a path that begins with /";

const isPrintedLine = (value: unknown): value is PrintedLine =>
	typeof value === "object" &&
	value !== null &&
	Object.keys(value).join() === "fromLine" &&
	(value as PrintedLine).fromLine instanceof RegExp;

export const HTTP_CHECKS: Readonly<Record<keyof HttpOptions, Check>> = {
	...PROGRAM_CHECKS,
	listen: optional((value) =>
		value === "unix" ||
		value === "inherited" ||
		value === "tcp" ||
		(isPrintedLine(value) && namesPort(value))
			? undefined
			: 'must be "unix", "inherited", "tcp" or { fromLine } with a group "url" or "port", as /listening on (?<url>http:\\S+)/',
	),
	ready: optional((value) =>
		isPrintedLine(value) || aPath(value) === undefined
			? undefined
			: "must be a path that begins with /, or { fromLine }",
	),
	health: optional(aPath),
	body: optional(oneOf("auto", "json", "ndjson", "sse", "text", "bytes")),
	cancelled: optional(oneOf("answered", "unknown")),
	maxMessageBytes: optional(wholeNumber(1_024, 512 * 1024 * 1024)),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkHttpOptions(options: unknown): void {
	checkOptions("http", options, HTTP_CHECKS);
}

const namesPort = ({ fromLine }: PrintedLine): boolean =>
	/\(\?<(url|port)>/.test(fromLine.source);
