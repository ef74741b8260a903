import { PassThrough } from "node:stream";
import * as core from "@snakepit/core";
import * as adapter from "@snakepit/core/adapter";
import { Fault, Gone, JsonRpcPeer } from "./json-rpc-peer.ts";

/** Workers are programs that answer JSON-RPC requests, one a line. */
export function jsonRpcAdapter(command: readonly string[]): adapter.Adapter {
	const [executable = "", ...args] = command;
	return {
		name: "json-rpc",
		launch: () => ({ executable, args, stdio: "adapter" }),
		connect: async (process, signal) => {
			const connection = converse(process);
			await connection.execute("echo", null, { signal } as adapter.CallOptions);
			return connection;
		},
	};
}

/** The conversation with one process. */
function converse(process: adapter.WorkerProcess): adapter.Connection {
	const { stdin, stdout } = process;
	if (!stdin || !stdout)
		throw new TypeError('launch has to return stdio: "adapter"');
	const peer = new JsonRpcPeer(stdin, stdout, (why) => process.broken(why));
	void process.exited.then(() => peer.end("it has ended"));

	const ask = async (
		method: string,
		params: unknown,
		{ signal, input }: Pick<adapter.CallOptions, "signal" | "input">,
		onPart = (_part: unknown): void => {},
	): Promise<unknown> => {
		if (input) throw noInput();
		try {
			signal.throwIfAborted();
			return await peer.request(method, params, signal, onPart);
		} catch (error) {
			throw translate(error);
		}
	};

	return {
		execute: (command, args, options) => ask(command, args, options),
		async *stream(command, args, options) {
			const closed = new AbortController();
			const signal = AbortSignal.any([options.signal, closed.signal]);
			const parts = new PassThrough({ objectMode: true });
			const answer = ask(command, args, { ...options, signal }, (part) => {
				// A consumer that waits makes the program wait.
				if (!parts.destroyed && !parts.write([part])) stdout.pause();
			});
			parts.on("drain", () => stdout.resume());
			answer.catch(() => {}).finally(() => parts.end());
			try {
				for await (const [part] of parts) yield part;
				await answer;
			} finally {
				closed.abort();
				stdout.resume();
				await answer.catch(() => {}); // Only now is the worker free.
			}
		},
		leave: async () => void stdin.end(),
		[Symbol.asyncDispose]: async () => peer.end("nobody listens to it"),
	};
}

/** What the program has no way to read is refused, never dropped. */
function noInput(): core.InputError {
	const message = "JSON-RPC has no input streams: send the items as arguments.";
	return new core.InputError({ code: "NOT_OFFERED", ran: "no", message });
}

/** Errors are translated here, once. */
function translate(error: unknown): core.SnakepitError {
	const { message } = error as Error;
	const fields = { ran: "maybe", message, cause: error } as const;
	if (error instanceof Gone) return new adapter.ConnectionBrokenError(fields);
	if (!(error instanceof Fault) || error.kind === "cancelled") {
		const code = "CALL_ABORTED";
		return new core.CallAbortedError({ ...fields, code });
	}
	if (error.kind === "no_such_method") {
		const code = "TOOL_NOT_FOUND";
		return new core.InputError({ ...fields, code, ran: "no" });
	}
	const remote = { type: "JSON-RPC fault", message, traceback: error.trace };
	return new core.ToolError({ ...fields, remote });
}
