import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Adapter } from "../../src/contract/adapter.ts";
import type { Connection } from "../../src/contract/connection.ts";
import { ConnectionBrokenError } from "../../src/contract/errors.ts";
import type { WorkerProcess } from "../../src/contract/launch.ts";

const gone = (message: string): ConnectionBrokenError =>
	new ConnectionBrokenError({
		ran: "maybe",
		message,
	});

/** The command line of a program of the bestiary. */
function bestiary(
	program: string,
	args: readonly string[],
): { readonly executable: string; readonly args: readonly string[] } {
	const path = fileURLToPath(
		new URL(`../bestiary/${program}`, import.meta.url),
	);
	return program.endsWith(".cjs")
		? { executable: process.execPath, args: [path, ...args] }
		: { executable: path, args };
}

/** An adapter as they are found in the wild, for a program of the bestiary. */
export function stdioAdapter(
	program: string,
	converse: (process: WorkerProcess) => Connection | Promise<Connection>,
	args: readonly string[] = [],
): Adapter {
	return {
		name: "stdio",
		launch: () => ({ ...bestiary(program, args), stdio: "adapter" }),
		connect: async (process) => await converse(process),
	};
}

/** Converses in lines of JSON. Says that the conversation broke as soon as the output ends. */
export async function inLines({
	stdin,
	stdout,
	exited,
	broken,
}: WorkerProcess): Promise<Connection> {
	if (!stdin || !stdout) throw new TypeError("no standard streams");
	const calls = new Map<number, PromiseWithResolvers<unknown>>();
	let last = 0;
	const give = (why: string): void => {
		for (const { reject } of calls.values()) reject(gone(why));
	};
	const lines = createInterface({ input: stdout });
	lines.on("line", (line) => {
		const { id, result } = JSON.parse(line);
		calls.get(id)?.resolve(result);
	});
	lines.on("close", () => broken(gone("the output ended")));
	stdin.on("error", (error) => broken(error));
	void exited.then(() => give("the process has ended"));
	const execute = (command: string, args: unknown): Promise<unknown> => {
		const id = ++last;
		const call = Promise.withResolvers<unknown>();
		calls.set(id, call);
		stdin.write(`${JSON.stringify({ id, command, args })}\n`);
		return call.promise.finally(() => calls.delete(id));
	};
	await execute("echo", "up");
	return {
		execute,
		leave: async () => void stdin.end(),
		[Symbol.asyncDispose]: async () => {},
	};
}

/** The answer to the one call of a process is all that it writes; the answer of the connection is its length. */
export function asAWhole({ stdin, stdout, exited }: WorkerProcess): Connection {
	if (!stdin || !stdout) throw new TypeError("no standard streams");
	stdin.on("error", () => {});
	return {
		execute: () => {
			stdin.write("go\n");
			return new Promise((resolve, reject) => {
				let bytes = 0;
				stdout.on("data", (chunk: Buffer) => {
					bytes += chunk.length;
				});
				stdout.on("end", () => resolve(bytes));
				void exited.then(() => reject(gone("the process has ended")));
			});
		},
		[Symbol.asyncDispose]: async () => {},
	};
}
