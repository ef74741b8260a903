import { StartError } from "@snakepit/core";
import type { ToolRecord } from "../frames/frames.ts";
import { VERSION } from "../gen/version.ts";
import type {
	PythonStartError,
	PythonStartErrorCode,
} from "../start-error-codes.ts";

/** The bridge protocols that this package speaks, both included. */
export const PROTOCOL = { min: 1, max: 1 } as const;

/** Name and version of this package, for messages on the other side. */
export const HOST_PACKAGE: string = `@snakepit/adapter-python ${VERSION}`;

/** How a version begins, both on npm and PyPI. */
const RELEASE = /^(\d+)\.(\d+)/;

/** The part of a version that must be the same in all packages: `0.3` of `0.3.1`, `2` of `2.4.0`. */
function releaseOf(version: string): string | undefined {
	const match = RELEASE.exec(version);
	if (match === null) return undefined;
	const [release, major = ""] = match;
	return major === "0" ? release : major;
}

/** Whether packages of these versions work together. */
export function isSameRelease(
	bridge: string,
	adapter: string = VERSION,
): boolean {
	const release = releaseOf(bridge);
	return release !== undefined && release === releaseOf(adapter);
}

/** What pip installs for this package: `snakepit-bridge==0.3.*`, with the extra that the transport needs. */
export function fittingBridge(
	extra?: string,
	adapter: string = VERSION,
): string {
	const extras = extra === undefined ? "" : `[${extra}]`;
	return `snakepit-bridge${extras}==${releaseOf(adapter)}.*`;
}

/** The version of a build that was never published. */
const UNPUBLISHED = "0.0.0";

/** Where the bridge is for a package that was built in a clone; empty for a published one. */
export function cloneNote(extra?: string, adapter: string = VERSION): string {
	const extras = extra === undefined ? "" : `[${extra}]`;
	return adapter === UNPUBLISHED
		? `\n(This build of Snakepit was not published, and neither was its bridge: install "CLONE/python${extras}" instead, where CLONE is the clone that it was built in.)`
		: "";
}

/** The error if the packages do not match: their versions, and how to fix it. */
export function releaseMismatch(
	who: string,
	bridge: string,
	install: string,
	{
		extra,
		more = "",
	}: { readonly extra?: string; readonly more?: string } = {},
): PythonStartError {
	const release = releaseOf(bridge);
	const npm =
		release === undefined
			? ""
			: `, or install the npm packages of the bridge's release, including all others of Snakepit that the program uses:\n  npm install @snakepit/core@${release} @snakepit/adapter-python@${release}`;
	const shared = VERSION.startsWith("0.")
		? "first two numbers"
		: "first number";
	return new StartError<PythonStartErrorCode>({
		code: "VERSION_MISMATCH",
		message: `${who} has snakepit-bridge ${bridge}, but this is @snakepit/adapter-python ${VERSION}; the ${shared} of their versions must be the same. Install the bridge of this release (a pythonEnvironment() does for a requirement without a version):\n  ${install} "${fittingBridge(extra)}"${npm}${more}`,
	});
}

/**
 * Checks the ready line of a worker.
 *
 * @throws StartError `PROTOCOL_MISMATCH`, `VERSION_MISMATCH` with both versions and the remedy, `READY_LINE_INVALID`.
 */
export function checkReadyPayload(
	workerId: string,
	ready: unknown,
	wanted: string,
): void {
	const { protocol, bridge, python, transport } = (ready ?? {}) as Record<
		string,
		unknown
	>;
	if (
		typeof protocol !== "number" ||
		typeof bridge !== "string" ||
		typeof python !== "string"
	) {
		throw new StartError({
			code: "READY_LINE_INVALID",
			message: `Worker ${workerId}: its ready line lacks protocol, bridge or python: ${JSON.stringify(ready)}. The program that answered is not snakepit-bridge.`,
		});
	}
	if (protocol < PROTOCOL.min || protocol > PROTOCOL.max) {
		throw new StartError<PythonStartErrorCode>({
			code: "PROTOCOL_MISMATCH",
			message: `Worker ${workerId}: snakepit-bridge ${bridge} chose bridge protocol ${protocol}, but ${HOST_PACKAGE} speaks ${PROTOCOL.min} to ${PROTOCOL.max}. Update ${protocol > PROTOCOL.max ? "@snakepit/adapter-python" : "snakepit-bridge"}.`,
		});
	}
	if (!isSameRelease(bridge))
		throw releaseMismatch(
			`Worker ${workerId}`,
			bridge,
			"python -m pip install",
		);
	if ((transport ?? "grpc") !== wanted) {
		throw new StartError<PythonStartErrorCode>({
			code: "PROTOCOL_MISMATCH",
			message: `Worker ${workerId}: snakepit-bridge ${bridge} uses the transport ${String(transport ?? "grpc")}, but the adapter asked for "${wanted}". Update snakepit-bridge.`,
		});
	}
}

/** What a worker reports about one of its tools. */
export interface ToolDescription {
	readonly name: string;
	/** The docstring. */
	readonly description: string;
	/** One result for `execute`, or chunks for `stream`. */
	readonly shape: "unary" | "stream";
	/** How many calls its function takes at a time; absent where each call is by itself. */
	readonly batchMax?: number | undefined;
	/** Whether it reads an input stream. */
	readonly readsInput: boolean;
	/** JSON Schema 2020-12 of the arguments, by name. */
	readonly argumentsSchema: unknown;
	/** JSON Schema 2020-12 of the result, or of a chunk. */
	readonly resultSchema: unknown;
}

/** What a worker reported. @throws SyntaxError when a schema is not JSON. */
export function descriptionOf(tool: ToolRecord): ToolDescription {
	return {
		name: tool.name,
		description: tool.description,
		shape: tool.shape === "STREAM" ? "stream" : "unary",
		batchMax: tool.batchMax,
		readsInput: tool.readsInput,
		argumentsSchema: JSON.parse(tool.argumentsSchemaJson),
		resultSchema: JSON.parse(tool.resultSchemaJson),
	};
}
