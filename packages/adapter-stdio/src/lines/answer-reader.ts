import { StringDecoder } from "node:string_decoder";
import type { Check } from "@snakepit/core/options";
import { FramingError } from "../framing/framing.ts";

/**
 * Where an answer ends: at a line that is exactly `line`, or matches it; or at a prompt, with which the program shows
 * that it reads again. A prompt begins a line, or is the last that the program has written; no line of an answer begins
 * with it. Neither is part of the answer.
 */
export type AnswerEnd =
	| { readonly line: string | RegExp }
	| { readonly prompt: string };

export const answerEndCheck: Check = (value) => {
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
export class AnswerReader {
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
