import { InputError } from "@snakepit/core";
import { type InputErrorCode, messageOf } from "@snakepit/core/adapter";

/** A value, or a part of it, that cannot be sent. The path grows while the error passes the containers around it. */
export class ValueNotTransferable extends Error {
	override readonly name = "ValueNotTransferable";
	readonly code: InputErrorCode;
	private path = "";

	/**
	 * @param problem continues a sentence that begins with the path: `is a function`.
	 * @param cause the error that the value's own code threw.
	 */
	constructor(
		problem: string,
		code: InputErrorCode = "VALUE_NOT_TRANSFERABLE",
		cause?: unknown,
	) {
		super(problem, cause === undefined ? undefined : { cause });
		this.code = code;
	}

	/** Converts an error that was thrown while a value was read, for example by a getter or a proxy. */
	static of(thrown: unknown): ValueNotTransferable {
		if (thrown instanceof ValueNotTransferable) return thrown;
		const problem = `cannot be read: ${messageOf(thrown)}`;
		return new ValueNotTransferable(problem, "VALUE_NOT_TRANSFERABLE", thrown);
	}

	/** Adds the position in the current container to the front of the path. */
	within(position: string): this {
		this.path = position + this.path;
		return this;
	}

	/** @param root what the path begins with: `$`. */
	toInputError(root: string): InputError {
		const path = root + this.path;
		return new InputError({
			code: this.code,
			ran: "no",
			message:
				this.code === "MESSAGE_TOO_LARGE"
					? this.message
					: `${shortened(path)} ${this.message}`,
			path,
			cause: this.cause,
		});
	}
}

/** The position of a property, in the notation of a program. */
export function propertyPosition(key: string): string {
	return /^[A-Za-z_$][\w$]*$/.test(key)
		? `.${key}`
		: `[${JSON.stringify(key)}]`;
}

const MOST_OF_PATH = 160;

/** A cycle is detected by its depth, so its path repeats the same steps. */
function shortened(path: string): string {
	if (path.length <= MOST_OF_PATH) return path;
	const half = MOST_OF_PATH / 2;
	return `${path.slice(0, half)}…${path.slice(-half)}`;
}

/** Describes a value for an error message. */
export function describe(value: unknown): string {
	if (value === undefined) return "undefined";
	if (value === null) return "null";
	if (typeof value === "function")
		return value.name === "" ? "a function" : `the function ${value.name}`;
	if (typeof value === "symbol") return String(value);
	if (typeof value !== "object") return `a ${typeof value}`;
	const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
	return typeof name === "string" && name !== ""
		? `an instance of ${name}`
		: "an object of an unnamed class";
}

const ARROW_VECTOR = Symbol.for("apache-arrow/Vector");

/** The value to send instead of an object of a built-in JavaScript class, by its tag. */
const INSTEAD: Readonly<Record<string, string>> = {
	URL: "send its text: url.href",
	URLSearchParams: "send its text: String(parameters)",
	RegExp: "send its text: pattern.source",
	Error: "send its message",
};

/** What to do with an object of a class that cannot be sent. */
export function remedyFor(value: object): string {
	// The only part of apache-arrow that a program takes out of its tables.
	if (ARROW_VECTOR in value) return "put it in a table: new Table({ column })";
	if ("then" in value && typeof value.then === "function") return "await it";
	const tag = Object.prototype.toString
		.call(value)
		.slice("[object ".length, -1);
	return INSTEAD[tag] ?? "send its fields as a plain object";
}
