import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Adapter } from "../../src/contract/adapter.ts";
import { ToolError } from "../../src/contract/errors.ts";

/** Real workers that answer lines; see worker.cjs. */
export function lineAdapter(): Adapter {
	return {
		name: "lines",
		launch: () => ({
			executable: process.execPath,
			args: [join(import.meta.dirname, "worker.cjs")],
			env: { PATH: process.env["PATH"] ?? "" },
			stdio: "adapter",
		}),
		describe: async () => [
			{
				name: "sleep",
				description: "Waits.",
				argumentsSchema: { type: "integer" },
				shape: "unary",
			},
		],
		connect: async ({ stdin, stdout }) => {
			const waiting = new Map<string, (answer: Answer) => void>();
			if (stdout !== undefined)
				createInterface({ input: stdout }).on("line", (line) => {
					const answer = JSON.parse(line) as Answer;
					waiting.get(answer.id)?.(answer);
					waiting.delete(answer.id);
				});
			return {
				execute: async (command, args, { callId }) => {
					const { promise, resolve } = Promise.withResolvers<Answer>();
					waiting.set(callId, resolve);
					const line = JSON.stringify({ id: callId, command, args });
					stdin?.write(`${line}\n`);
					const { error, result } = await promise;
					if (error === undefined) return result;
					throw new ToolError({
						ran: "maybe",
						message: error,
						remote: {
							...{ type: "Failure", message: error, traceback: "" },
							...{ notes: [], frames: [], cause: undefined },
						},
					});
				},
				[Symbol.asyncDispose]: async () => {},
			};
		},
	};
}

interface Answer {
	readonly id: string;
	readonly result?: unknown;
	readonly error?: string;
}
