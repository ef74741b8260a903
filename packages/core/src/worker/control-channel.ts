import { type Duplex, finished } from "node:stream";
import { StartError } from "../contract/errors.ts";
import type { WorkerSlot } from "../contract/launch.ts";

/** A launch message or a ready line may not be longer. */
export const MAX_CONTROL_LINE_BYTES = 65_536;
const CONTROL_VERSION = 1;

/** The launch message of docs/bridge-protocol.md, without its line break. */
export function formatLaunchMessage(
	slot: Pick<WorkerSlot, "runId" | "workerId" | "incarnation" | "directory">,
	lifeline: string,
	token: string,
	payload: unknown,
): string {
	const line = JSON.stringify({
		snakepit: CONTROL_VERSION,
		runId: slot.runId,
		workerId: slot.workerId,
		incarnation: slot.incarnation,
		lifeline,
		directory: slot.directory,
		token,
		payload,
	});
	const bytes = Buffer.byteLength(line);
	if (bytes >= MAX_CONTROL_LINE_BYTES) {
		throw new StartError({
			code: "CONNECT_FAILED",
			message: `Worker ${slot.workerId}: its launch message has ${bytes} bytes, at most ${MAX_CONTROL_LINE_BYTES} are allowed. Pass large settings in a file or in the environment.`,
		});
	}
	return line;
}

/**
 * Reads a ready line: returns what the program reports of itself.
 *
 * @param refusalCodes with which it may refuse to start.
 * @throws StartError with one of them or `WORKER_REFUSED` when it refused, `READY_LINE_INVALID` when the line is neither.
 */
export function parseReadyLine(
	workerId: string,
	line: string,
	refusalCodes: readonly string[] = [],
): unknown {
	let parsed: unknown;
	try {
		parsed = JSON.parse(line);
	} catch (cause) {
		throw invalid(workerId, line, cause);
	}
	if (typeof parsed !== "object" || parsed === null)
		throw invalid(workerId, line);
	if ("ready" in parsed) return parsed.ready;
	if (
		!("failed" in parsed) ||
		typeof parsed.failed !== "object" ||
		parsed.failed === null
	)
		throw invalid(workerId, line);
	const { code, message, detail } = parsed.failed as Record<string, unknown>;
	const known = refusalCodes.find((candidate) => candidate === code);
	// A code that the adapter does not name is only shown.
	const invented =
		known === undefined && code !== undefined ? ` (${text(code)})` : "";
	const details =
		detail === undefined || detail === "" ? "" : `\n${text(detail)}`;
	throw new StartError<string>({
		code: known ?? "WORKER_REFUSED",
		message: `Worker ${workerId} could not start: ${text(message)}${invented}${details}`,
	});
}

/**
 * Sends the launch message and waits for the one answer.
 *
 * @throws StartError `READY_LINE_TOO_LONG`, `READY_LINE_INVALID`, `WORKER_EXITED_EARLY` when the program closes the
 *   channel first, or the program's own refusal.
 */
export async function shakeHands(
	channel: Duplex,
	workerId: string,
	launchMessage: string,
	refusalCodes?: readonly string[],
): Promise<unknown> {
	const { promise, resolve, reject } = Promise.withResolvers<string>();
	const chunks: Buffer[] = [];
	let bytes = 0;
	const read = (chunk: Buffer): void => {
		const end = chunk.indexOf(0x0a);
		bytes += end === -1 ? chunk.length : end;
		if (bytes > MAX_CONTROL_LINE_BYTES) {
			reject(
				new StartError({
					code: "READY_LINE_TOO_LONG",
					message: `Worker ${workerId} wrote more than ${MAX_CONTROL_LINE_BYTES} bytes on descriptor 3 without a line break. Only the ready line belongs there; print to standard output instead.`,
				}),
			);
			return;
		}
		chunks.push(end === -1 ? chunk : chunk.subarray(0, end));
		if (end !== -1) resolve(Buffer.concat(chunks).toString("utf8"));
	};
	channel.on("data", read);
	// Also calls back where the program closed it before.
	finished(channel, { writable: false }, (cause) =>
		reject(
			new StartError({
				code: "WORKER_EXITED_EARLY",
				message: `Worker ${workerId} closed its control channel (descriptor 3) before it reported that it is ready.`,
				cause: cause ?? undefined,
			}),
		),
	);
	channel.write(`${launchMessage}\n`);
	try {
		return parseReadyLine(workerId, await promise, refusalCodes);
	} finally {
		// What else it writes there is read and dropped, so that the worker never blocks.
		channel.off("data", read);
		channel.resume();
	}
}

function invalid(workerId: string, line: string, cause?: unknown): StartError {
	const shown = line.length > 200 ? `${line.slice(0, 200)}…` : line;
	return new StartError({
		code: "READY_LINE_INVALID",
		message: `Worker ${workerId} answered its launch message with a line that is neither ready nor failed: ${JSON.stringify(shown)}. Have it write {"ready": {…}} or {"failed": {"code": …, "message": …, "detail": …}} to descriptor 3, and nothing before that.`,
		cause,
	});
}

function text(value: unknown): string {
	return typeof value === "string"
		? value
		: (JSON.stringify(value) ?? "no reason given");
}
