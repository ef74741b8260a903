import type { Readable, Writable } from "node:stream";
import type {
	Adapter,
	Connection,
	WorkerProcess,
} from "@snakepit/core/adapter";

/**
 * Workers that are real processes and do nothing (`sleep`), with a conversation
 * that never leaves this one: what is left is the cost of the pool.
 */
export function inProcessAdapter(execute: Connection["execute"]): Adapter {
	return {
		name: "in-process",
		launch: () => ({ executable: "sleep", args: ["2147483647"] }),
		connect: async () => ({ execute, [Symbol.asyncDispose]: async () => {} }),
	};
}

/** Workers that are `cat`: the smallest real conversation with a process. One call at a time. */
export const catAdapter: Adapter = {
	name: "cat",
	launch: () => ({ executable: "cat", stdio: "adapter" }),
	connect: async (process) => connectionTo(process),
};

function connectionTo({ stdin, stdout }: WorkerProcess): Connection {
	if (stdin === undefined || stdout === undefined)
		throw new TypeError('launch says stdio: "adapter"');
	const echo = converse({ stdin, stdout });
	return {
		execute: (_command, args) => echo(String(args)),
		leave: async () => void stdin.end(),
		[Symbol.asyncDispose]: async () => {},
	};
}

/** Sends a line at a time; answers with the line that comes back. */
export function converse({
	stdin,
	stdout,
}: {
	readonly stdin: Writable;
	readonly stdout: Readable;
}): (text: string) => Promise<string> {
	let wanted: ((line: string) => void) | undefined;
	let line = "";
	stdout.setEncoding("utf8");
	stdout.on("data", (text: string) => {
		line += text;
		if (!line.endsWith("\n")) return;
		wanted?.(line.slice(0, -1));
		line = "";
	});
	return (text) =>
		new Promise((resolve) => {
			wanted = resolve;
			stdin.write(`${text}\n`);
		});
}
