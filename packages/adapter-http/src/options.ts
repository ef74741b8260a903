import { PROGRAM_CHECKS, type ProgramOptions } from "@snakepit/core/adapter";
import {
	type Check,
	checkOptions,
	oneOf,
	optional,
	wholeNumber,
} from "@snakepit/core/options";
import type { BodyKind } from "./response.ts";

/** A line that the program prints, on standard output or standard error. */
export interface PrintedLine {
	readonly fromLine: RegExp;
}

/** How a program serves HTTP. Also takes the options of `ProgramOptions`. */
export interface HttpOptions extends ProgramOptions {
	/**
	 * Where the program listens. Write the placeholder into `command` or `env`. `"unix"`: a Unix socket in the worker's
	 * private directory, `{socket}`. `"inherited"`: such a socket that already listens when the program starts, as
	 * descriptor `{fd}`. `"tcp"`: a free port of 127.0.0.1, `{port}`. `{ fromLine }`: the port of 127.0.0.1 or ::1 that a
	 * line of its output names, in a group `url` or `port`. Every local user can connect to a port. On Linux, Snakepit
	 * checks that the worker owns the port; elsewhere ports are refused.
	 * @default "unix"
	 */
	readonly listen?: "unix" | "inherited" | "tcp" | PrintedLine | undefined;
	/**
	 * When the program is ready: when `GET` of this path returns 2xx, or when it prints this line. By default: when it
	 * answers `HEAD /` with any status.
	 */
	readonly ready?: string | PrintedLine | undefined;
	/**
	 * A path that the heartbeat requests; the worker is healthy if the answer is 2xx, even while calls run. By default,
	 * the heartbeat checks only the process.
	 */
	readonly health?: string | undefined;
	/** How responses are read; `"auto"`: by their `content-type`. @default "auto" */
	readonly body?: "auto" | BodyKind | undefined;
	/**
	 * When a worker has finished a cancelled call, whose connection was closed. `"answered"`: when it answers another
	 * request. `"unknown"`: this cannot be known, so the worker takes no more calls and is replaced.
	 * @default "answered"
	 */
	readonly cancelled?: "answered" | "unknown" | undefined;
	/**
	 * The limit for the body of a request, the response of `pool.execute`, or an item of a stream.
	 * @default 67 108 864 bytes (64 MiB)
	 */
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
			: 'must be "unix", "inherited", "tcp" or { fromLine } with a group "url" or "port", such as /listening on (?<url>http:\\S+)/',
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
