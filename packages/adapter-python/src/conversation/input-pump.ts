import { InputError, type SnakepitError } from "@snakepit/core";
import { encodeValue } from "../values/encode-value.ts";
import { thrownText } from "./call-errors.ts";
import { countedBytes } from "./chunk-stream.ts";
import type { Conversation } from "./conversation.ts";

/** What a pump needs of the conversation. */
type InputLine = Pick<Conversation, "send" | "drained">;

type PumpState =
	| { readonly kind: "waiting" }
	| { readonly kind: "pumping" }
	/** The source ended or failed, or its items are no longer wanted. */
	| { readonly kind: "stopped" };

/** Takes items from the caller's iterable as the worker allows, and sends them. */
export class InputPump {
	/** The error that the caller's iterable threw. */
	error: unknown;
	private readonly callNumber: number;
	private readonly source: AsyncIterable<unknown> | Iterable<unknown>;
	private readonly line: InputLine;
	private readonly refuse: (error: SnakepitError) => void;
	private iterator: AsyncIterator<unknown> | Iterator<unknown> | undefined;
	private state: PumpState = { kind: "waiting" };
	private readonly window = new InputWindow();
	private sent = 0;

	/** @param refuse ends the call: an item cannot cross. */
	constructor(
		callNumber: number,
		source: AsyncIterable<unknown> | Iterable<unknown>,
		line: InputLine,
		refuse: (error: SnakepitError) => void,
	) {
		this.callNumber = callNumber;
		this.source = source;
		this.line = line;
		this.refuse = refuse;
	}

	/** See `InputWindow.grant`. */
	grant(items: number): void {
		this.window.grant(items);
		if (this.state.kind !== "waiting" || !this.window.isOpen) return;
		this.state = { kind: "pumping" };
		void this.pump();
	}

	/** No more items are wanted: closes the source, as a loop that is left closes it. */
	stop(): void {
		if (this.state.kind === "stopped") return;
		this.state = { kind: "stopped" };
		const { iterator } = this;
		void (async () => {
			try {
				await iterator?.return?.();
			} catch {
				// The call is over or ending for another reason: nothing waits for this error.
			}
		})();
	}

	/** Never rejects. */
	private async pump(): Promise<void> {
		while (this.window.isOpen) {
			const next = await this.next();
			if (this.state.kind !== "pumping") return;
			if (next.done) {
				this.state = { kind: "stopped" };
				this.line.send(
					{
						kind: "inputEnd",
						callId: this.callNumber,
						errorMessage: next.problem,
					},
					"the end of the input",
				);
				return;
			}
			try {
				this.sendItem(next.value);
			} catch (error) {
				this.refuse(asBegun(error as SnakepitError));
				return;
			}
			await this.line.drained();
			if (this.state.kind !== "pumping") return;
		}
		this.state = { kind: "waiting" };
	}

	private async next(): Promise<
		| { readonly done: true; readonly problem: string }
		| { readonly done: false; readonly value: unknown }
	> {
		try {
			this.iterator ??= iteratorOf(this.source);
			const step = await this.iterator.next();
			return step.done
				? { done: true, problem: "" }
				: { done: false, value: await step.value };
		} catch (error) {
			this.error = error;
			return { done: true, problem: thrownText(error) };
		}
	}

	private sendItem(item: unknown): void {
		const root = `$input[${this.sent++}]`;
		const encoded = encodeValue(item, { root });
		this.line.send(
			{ kind: "input", callId: this.callNumber, value: encoded },
			root,
		);
		this.window.take(encoded.byteLength);
	}
}

/** An encoder does not know calls; a call that takes input is running, or is about to. */
function asBegun(error: SnakepitError): SnakepitError {
	if (!(error instanceof InputError)) return error;
	const { code, message, path, cause } = error;
	return new InputError({ code, ran: "maybe", message, path, cause });
}

function iteratorOf(
	source: AsyncIterable<unknown> | Iterable<unknown>,
): AsyncIterator<unknown> | Iterator<unknown> {
	if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]();
	if (Symbol.iterator in Object(source)) return source[Symbol.iterator]();
	throw new InputError({
		code: "INVALID_ARGUMENTS",
		ran: "maybe",
		message:
			"The input of a call must be iterable, synchronously or asynchronously.",
	});
}

/** More items than the worker allows may be in transit while all of them together have fewer bytes than this. */
const SMALL_BYTES = 64 * 1024;

/** How far the items of an input may be ahead of the tool that reads them. */
export class InputWindow {
	/** The sizes of the items in transit, in order. */
	private readonly out: number[] = [];
	private outBytes = 0;
	/** How many items may be in transit, whatever their size; the worker's first grant. */
	private items = 0;

	/** The first grant opens the window; each later one says how many more items the tool has read. */
	grant(items: number): void {
		if (this.items === 0) {
			this.items = items;
			return;
		}
		for (const bytes of this.out.splice(0, items)) this.outBytes -= bytes;
	}

	/** Whether one more item may be sent. */
	get isOpen(): boolean {
		if (this.items === 0) return false;
		return this.out.length < this.items || this.outBytes < SMALL_BYTES;
	}

	/** An item of this many bytes was sent. */
	take(bytes: number): void {
		const counted = countedBytes(bytes);
		this.out.push(counted);
		this.outBytes += counted;
	}
}
