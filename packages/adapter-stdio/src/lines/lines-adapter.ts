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
import {
	STDIO_CHECKS,
	STDIO_DEFAULTS,
	type StdioOptions,
} from "../stdio-options.ts";
import {
	type AnswerEnd,
	AnswerReader,
	answerEndCheck,
} from "./answer-reader.ts";

/** How a program answers. Also takes the options of `StdioOptions` and `ProgramOptions`. */
export interface LinesOptions extends StdioOptions {
	/**
	 * What the program reads for a call: one line, or several if `until` is set. By default the arguments, which must be a
	 * string; the command is ignored.
	 */
	readonly encode?: ((command: string, args: unknown) => string) | undefined;
	/**
	 * The result of a call from its answer; by default the answer. The lines of an answer are joined by `\n`. If it throws,
	 * the call fails with a ToolError.
	 */
	readonly decode?: ((answer: string, command: string) => unknown) | undefined;
	/** Where an answer ends. By default each answer is one line. */
	readonly until?: AnswerEnd | undefined;
}

export const LINES_CHECKS: Readonly<Record<keyof LinesOptions, Check>> = {
	...STDIO_CHECKS,
	encode: optional(aFunction),
	decode: optional(aFunction),
	until: optional(answerEndCheck),
};

/**
 * Workers are programs that answer what they read from their standard input in the order in which they read it: each
 * line with one line, or with lines up to a terminator or a prompt.
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
		connect: async (process, signal) => {
			const conversation = converse(process, options);
			await conversation.ready(signal);
			return conversation.connection;
		},
	};
}

interface Conversation {
	readonly connection: Connection;
	/** Resolves when the program has printed its first prompt, if it prints one. */
	ready(signal: AbortSignal): Promise<void>;
}

function converse(process: WorkerProcess, options: LinesOptions): Conversation {
	const { encode = asText, decode = (answer: string) => answer } = options;
	const { until } = options;
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
	const reader = new AnswerReader(
		until,
		options.maxMessageBytes ?? STDIO_DEFAULTS.maxMessageBytes,
	);
	const answer = (): Promise<string> => {
		const call = Promise.withResolvers<string>();
		waiting.push(call);
		return call.promise;
	};
	// What a program prints before its first prompt, as a greeting, answers no call.
	const prompted =
		until !== undefined && "prompt" in until ? answer() : undefined;
	prompted?.catch(() => {});
	stdin.on("error", ({ message }) => breakUp(`it reads no calls: ${message}`));
	stdout.on("data", (chunk: Buffer) => {
		try {
			for (const each of reader.take(chunk)) {
				const call = waiting.shift();
				if (call !== undefined) call.resolve(each);
				else breakUp(`it wrote a line that answers no call: ${quoted(each)}`);
			}
			const { begun } = reader;
			if (waiting.length === 0 && begun !== undefined)
				breakUp(`it wrote a line that answers no call: ${quoted(begun)}`);
		} catch (error) {
			if (!(error instanceof FramingError)) throw error;
			breakUp(error.message);
		}
	});
	// The callback also runs if the output has already ended.
	finished(stdout, { writable: false }, () => end("it has ended its output"));
	void process.exited.then(() => end("it has ended"));
	const connection: Connection = {
		execute: async (command, args, { signal, input }) => {
			if (input !== undefined) throw noInput();
			if (signal.aborted) throw callAborted(command, signal, "unused");
			if (ended !== undefined) throw broken(ended, "no");
			const text = encode(command, args);
			if (until === undefined && text.includes("\n"))
				throw severalLines(command);
			const answered = answer();
			stdin.write(`${text}\n`);
			const received = await answered;
			try {
				return decode(received, command);
			} catch (error) {
				throw refused(command, received, error);
			}
		},
		leave: async () => void stdin.end(),
		[Symbol.asyncDispose]: async () => end("its conversation was closed"),
	};
	const ready = async (signal: AbortSignal): Promise<void> => {
		if (prompted === undefined) return;
		process.starting({ awaits: "its first prompt" });
		await new Promise<void>((resolve, reject) => {
			const abort = () => reject(signal.reason);
			signal.addEventListener("abort", abort, { once: true });
			prompted
				.then(() => resolve(), reject)
				.finally(() => signal.removeEventListener("abort", abort));
		});
	};
	return { connection, ready };
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
		message: `lines(): the line of "${command}" has a line break, so the program would read it as two calls. If the program answers several lines, set the option "until".`,
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
