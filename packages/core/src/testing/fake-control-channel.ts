import type { FakeProcess } from "./fake-process.ts";

/** What the host writes on the control channel of a worker that uses it; see docs/bridge-protocol.md. */
export interface FakeLaunchMessage {
	readonly snakepit: number;
	readonly runId: string;
	readonly workerId: string;
	readonly incarnation: string;
	readonly lifeline: string;
	readonly directory: string;
	readonly token: string;
	readonly payload: unknown;
}

/**
 * Reads the launch message as a worker does: one line of JSON on descriptor 3.
 *
 * @throws Error when the channel is missing or ends before the line does.
 */
export async function readLaunchMessage(
	process: FakeProcess,
): Promise<FakeLaunchMessage> {
	if (!process.control)
		throw new Error("This program was started without a control channel.");
	let text = "";
	for await (const chunk of process.control.iterator({
		destroyOnReturn: false,
	})) {
		text += String(chunk);
		const end = text.indexOf("\n");
		if (end >= 0) return JSON.parse(text.slice(0, end)) as FakeLaunchMessage;
	}
	throw new Error(
		"The control channel ended before the launch message: the host is dead.",
	);
}

/** Writes the ready line with what the program reports about itself. */
export function writeReady(process: FakeProcess, ready: unknown): void {
	process.control?.write(`${JSON.stringify({ ready })}\n`);
}

/** Writes the line that reports why the program cannot serve. It should exit with status 70 then. */
export function writeFailed(
	process: FakeProcess,
	failed: {
		readonly code: string;
		readonly message: string;
		readonly detail?: string;
	},
): void {
	process.control?.write(`${JSON.stringify({ failed })}\n`);
}

/**
 * Does what a well-behaved worker does first: reads the launch message, takes
 * hold of the lifeline twice. Returns the message.
 */
export async function startAsWorker(
	process: FakeProcess,
): Promise<FakeLaunchMessage> {
	const message = await readLaunchMessage(process);
	process.holdLifeline(message.lifeline);
	process.holdLifeline(message.lifeline);
	return message;
}
