import { finished } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { InputError, ToolError } from "@snakepit/core";
import {
	type Adapter,
	type Connection,
	ConnectionBrokenError,
	callAborted,
	messageOf,
	refuseInput,
	stdioOf,
	stdioSpec,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import {
	aFunction,
	type Check,
	checkOptions,
	optional,
} from "@snakepit/core/options";
import { FramingError } from "./framing.ts";
import {
	STDIO_CHECKS,
	STDIO_DEFAULTS,
	type StdioOptions,
} from "./stdio-options.ts";

/**
 * Where an answer ends: at a line that is exactly `line`, or matches it; or at a prompt, with which the program shows
 * that it reads again. A prompt begins a line, or is the last that the program has written; no line of an answer begins
 * with it. Neither is part of the answer.
 */
export type AnswerEnd =
	| { readonly line: string | RegExp }
	| { readonly prompt: string };

const answerEndCheck: Check = (value) => {
	const { line, prompt } = (value ?? {}) as Record<string, unknown>;
	const isLine =
		line instanceof RegExp ||
		(typeof line === "string" && line !== "" && !line.includes("\n"));
	const isPrompt =
		typeof prompt === "string" && prompt !== "" && !prompt.includes("\n");
	return (isLine && prompt === undefined) || (isPrompt && line === undefined)
		? undefined
		: "must be { line: a text of one line, or a regular expression } or { prompt: a text of one line }";
};

/** What a line is in an answer: all of it, its terminator, or one of its lines. */
type PartOfAnswer = "whole" | "end" | "middle";

function partsUntil(
	end: AnswerEnd | undefined,
): (line: string) => PartOfAnswer {
	if (end === undefined) return () => "whole";
	if ("prompt" in end) return () => "middle";
	const { line: last } = end;
	if (typeof last === "string")
		return (line) => (line === last ? "end" : "middle");
	// Without its state: with the flag g or y it would begin where the last match ended.
	const pattern = new RegExp(last.source, last.flags.replace(/[gy]/g, ""));
	return (line) => (pattern.test(line) ? "end" : "middle");
}

/** Finds the answers in the output of a program. */
class AnswerReader {
	readonly #partOf: (line: string) => PartOfAnswer;
	readonly #prompt: string | undefined;
	readonly #maxMessageBytes: number;
	readonly #decoder = new StringDecoder("utf8");
	/** Complete lines of the answer that is read now. */
	#lines: string[] = [];
	/** The beginning of a line, in parts that are joined once. */
	#parts: string[] = [];
	/** The number of its characters. */
	#length = 0;
	/** Of the answer that is read now. */
	#bytes = 0;

	/** @param end `undefined`: each line is an answer. */
	constructor(end: AnswerEnd | undefined, maxMessageBytes: number) {
		this.#maxMessageBytes = maxMessageBytes;
		this.#prompt =
			end !== undefined && "prompt" in end ? end.prompt : undefined;
		this.#partOf = partsUntil(end);
	}

	/** What the program wrote of an answer that is not complete: its first line; `undefined` if it wrote nothing. */
	get begun(): string | undefined {
		return this.#lines[0];
	}

	/**
	 * Takes what the program wrote.
	 *
	 * @returns the answers that are now complete, in order.
	 * @throws FramingError an answer is longer than the limit.
	 */
	take(chunk: Buffer): readonly string[] {
		const answers: string[] = [];
		const [first = "", ...more] = this.#decoder.write(chunk).split("\n");
		this.#add(first, answers);
		for (const piece of more) {
			this.#endLine(answers);
			this.#add(piece, answers);
		}
		this.#takeLastPrompt(answers);
		return answers;
	}

	/** After the prompt a program waits, so that nothing follows it: an answer may have no line break at its end. */
	#takeLastPrompt(answers: string[]): void {
		const prompt = this.#prompt;
		if (prompt === undefined || this.#length < prompt.length) return;
		// The prompt may have come in two pieces; what was before it is not joined each time.
		let end = "";
		for (const part of this.#parts.toReversed()) {
			end = part + end;
			if (end.length >= prompt.length) break;
		}
		if (!end.endsWith(prompt)) return;
		this.#lines.push(this.#parts.join("").slice(0, -prompt.length));
		this.#parts = [];
		this.#length = 0;
		answers.push(this.#answer());
	}

	#add(piece: string, answers: string[]): void {
		if (piece === "") return;
		this.#bytes += Buffer.byteLength(piece);
		if (this.#bytes > this.#maxMessageBytes)
			throw new FramingError(
				`it wrote an answer of more than ${this.#maxMessageBytes} bytes (maxMessageBytes)`,
			);
		const isBeginning = this.#length < (this.#prompt?.length ?? 0);
		this.#parts.push(piece);
		this.#length += piece.length;
		if (isBeginning) this.#takePrompts(answers);
	}

	/** Several may stand in a row, when answers are empty. */
	#takePrompts(answers: string[]): void {
		if (this.#prompt === undefined) return;
		let line = this.#parts.join("");
		while (line.startsWith(this.#prompt)) {
			line = line.slice(this.#prompt.length);
			answers.push(this.#answer());
		}
		this.#parts = line === "" ? [] : [line];
		this.#length = line.length;
		if (this.#bytes === 0) this.#bytes = Buffer.byteLength(line);
	}

	#endLine(answers: string[]): void {
		const line = this.#parts.join("").replace(/\r$/, "");
		this.#parts = [];
		this.#length = 0;
		const part = this.#partOf(line);
		if (part !== "end") this.#lines.push(line);
		if (part !== "middle") answers.push(this.#answer());
	}

	/** Ends the answer that is read now. */
	#answer(): string {
		const answer = this.#lines.join("\n");
		this.#lines = [];
		this.#bytes = 0;
		return answer;
	}
}

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
		launch: (slot) => stdioSpec(options, slot),
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
	const { stdin, stdout } = stdioOf(process);
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
		execute: async (command, args, call) => {
			refuseInput(call);
			const { signal } = call;
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
