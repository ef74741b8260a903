import { finished } from "node:stream";
import { InputError, ToolError } from "@snakepit/core";
import {
	type Adapter,
	type Connection,
	ConnectionBrokenError,
	callAborted,
	messageOf,
	programSpec,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import {
	aFunction,
	type Check,
	checkOptions,
	optional,
} from "@snakepit/core/options";
import { FramingError } from "../framing/framing.ts";
import { lineFraming } from "../framing/line-framing.ts";
import {
	STDIO_CHECKS,
	STDIO_DEFAULTS,
	type StdioOptions,
} from "../stdio-options.ts";

/** How a program answers lines. Also takes the options of `StdioOptions` and `ProgramOptions`. */
export interface LinesOptions extends StdioOptions {
	/** The line of a call. By default the arguments, which must be a string; the command is ignored. */
	readonly encode?: ((command: string, args: unknown) => string) | undefined;
	/**
	 * The result of a call from the line that answers it; by default the line. If it throws, the call fails with a
	 * ToolError.
	 */
	readonly decode?: ((line: string, command: string) => unknown) | undefined;
}

export const LINES_CHECKS: Readonly<Record<keyof LinesOptions, Check>> = {
	...STDIO_CHECKS,
	encode: optional(aFunction),
	decode: optional(aFunction),
};

/**
 * Workers are programs that answer each line of their standard input with one line.
 * A cancelled call occupies its worker until its answer has come.
 *
 * @throws OptionsError.
 */
export function lines(options: LinesOptions): Adapter {
	checkOptions("lines", options, LINES_CHECKS);
	return {
		name: options.name ?? "lines",
		madeFrom: options,
		launch: (slot) => ({ ...programSpec(options, slot), stdio: "adapter" }),
		connect: async (process) => converse(process, options),
	};
}

function converse(process: WorkerProcess, options: LinesOptions): Connection {
	const { encode = asText, decode = (line: string) => line } = options;
	const { stdin, stdout } = process;
	if (stdin === undefined || stdout === undefined)
		throw new TypeError("The process has no standard input and output.");
	/** Calls without an answer, the oldest first. */
	const waiting: PromiseWithResolvers<string>[] = [];
	let ended: string | undefined;
	const end = (why: string): void => {
		ended ??= why;
		for (const { reject } of waiting.splice(0)) reject(broken(why, "maybe"));
	};
	const breakUp = (why: string): void => {
		if (ended !== undefined) return;
		end(why);
		process.broken(new Error(why));
	};
	const reader = lineFraming.reader(
		options.maxMessageBytes ?? STDIO_DEFAULTS.maxMessageBytes,
	);
	stdin.on("error", ({ message }) => breakUp(`it reads no calls: ${message}`));
	stdout.on("data", (chunk: Buffer) => {
		try {
			for (const line of reader.take(chunk)) {
				const call = waiting.shift();
				if (call !== undefined) call.resolve(line);
				else breakUp(`it wrote a line that answers no call: ${quoted(line)}`);
			}
		} catch (error) {
			if (!(error instanceof FramingError)) throw error;
			breakUp(error.message);
		}
	});
	// The callback also runs if the output has already ended.
	finished(stdout, { writable: false }, () => end("it has ended its output"));
	void process.exited.then(() => end("it has ended"));
	return {
		execute: async (command, args, { signal, input }) => {
			if (input !== undefined) throw noInput();
			if (signal.aborted) throw callAborted(command, signal, "unused");
			if (ended !== undefined) throw broken(ended, "no");
			const text = encode(command, args);
			if (text.includes("\n")) throw severalLines(command);
			const call = Promise.withResolvers<string>();
			waiting.push(call);
			stdin.write(lineFraming.frame(text));
			const line = await call.promise;
			try {
				return decode(line, command);
			} catch (error) {
				throw refused(command, line, error);
			}
		},
		leave: async () => void stdin.end(),
		[Symbol.asyncDispose]: async () => end("its conversation was closed"),
	};
}

function asText(_command: string, args: unknown): string {
	if (typeof args === "string") return args;
	throw new InputError({
		code: "INVALID_ARGUMENTS",
		ran: "no",
		message: `lines(): the arguments of a call must be a string, not ${args === null ? "null" : typeof args}. To send other values, set the option "encode".`,
	});
}

function severalLines(command: string): InputError {
	return new InputError({
		code: "INVALID_ARGUMENTS",
		ran: "no",
		message: `lines(): the line of "${command}" has a line break, so the program would read it as two calls.`,
	});
}

function noInput(): InputError {
	return new InputError({
		code: "NOT_OFFERED",
		ran: "no",
		message: "lines(): a call has no input stream; its arguments are one line.",
	});
}

function broken(why: string, ran: "no" | "maybe"): ConnectionBrokenError {
	return new ConnectionBrokenError({ message: why, ran });
}

function refused(command: string, line: string, error: unknown): ToolError {
	const { name, message } =
		error instanceof Error ? error : new Error(messageOf(error));
	return new ToolError({
		ran: "maybe",
		message: `"${command}" was answered with ${quoted(line)}: ${message}`,
		cause: error,
		remote: { type: name, message },
	});
}

function quoted(line: string): string {
	return JSON.stringify(line.length > 200 ? `${line.slice(0, 200)}…` : line);
}
