import { inspect } from "node:util";
import type { Thrown, Value } from "./catalogue/events.ts";
import type { ExceptionAttributes } from "./exceptions.ts";

/** Why data was not exported, or only in part. */
export const DROP_REASONS = [
	"attribute_cut",
	"command_limit",
	"listener_threw",
	"tracer_threw",
	"meter_threw",
	"logger_threw",
	"hook_threw",
	"export_failed",
] as const;

type DropReason = (typeof DROP_REASONS)[number];

/** Counts data that is lost before it is exported. */
export class Drops {
	#count: (reason: DropReason) => void = () => {};

	/** Sets the function that counts from now on. */
	countWith(count: (reason: DropReason) => void): void {
		this.#count = count;
	}

	/** Never throws: the function that counts may. */
	count(reason: DropReason): void {
		try {
			this.#count(reason);
		} catch {
			// There is no other place to report this error.
		}
	}

	/** Calls foreign code; an error that it throws is counted and not rethrown. */
	guard<T>(
		reason: "tracer_threw" | "meter_threw" | "logger_threw" | "hook_threw",
		action: () => T,
	): T | undefined {
		try {
			return action();
		} catch {
			this.count(reason);
			return undefined;
		}
	}
}

/** Names: commands, sessions, functions. */
const NAME_LENGTH = 128;
const TEXT_LENGTH = 4_096;
const TRACEBACK_LENGTH = 16_384;
const TEXTS = 20;
/** How many commands have their own series. */
const COMMANDS = 100;

/** In the place of a text that could not be redacted. */
const UNREDACTED = "(redact threw)";

/** Redacts texts, cuts values that are too large for backends, and counts the cuts. */
export class Limits {
	readonly #drops: Drops;
	readonly #redact: ((text: string) => string) | undefined;
	readonly #commands = new Set<string>();

	/** @param redact replaces what may contain data of the program. */
	constructor(drops: Drops, redact?: ((text: string) => string) | undefined) {
		this.#drops = drops;
		this.#redact = redact;
	}

	name(text: string): string {
		return this.#cut(text, NAME_LENGTH);
	}

	text(text: string): string {
		return this.#cut(this.#redacted(text), TEXT_LENGTH);
	}

	traceback(text: string): string {
		return this.#cut(this.#redacted(text), TRACEBACK_LENGTH);
	}

	/** What a program shows of the arguments of a call. */
	args(args: unknown): string {
		return this.text(JSON.stringify(plainArgs(args)) ?? String(args));
	}

	exception({ type, message, stacktrace }: Thrown): ExceptionAttributes {
		return {
			"exception.type": this.name(type),
			"exception.message": this.text(message),
			...(stacktrace !== undefined && {
				"exception.stacktrace": this.traceback(stacktrace),
			}),
		};
	}

	value(value: Value): string | number | boolean | string[] {
		if (typeof value === "string") return this.text(value);
		if (typeof value !== "object") return value;
		return value
			.slice(-TEXTS)
			.map((text) => this.#cut(this.#redacted(text), 256));
	}

	/** Returns a command as an attribute of metrics; `_OTHER` beyond the limit. */
	command(command: string): string {
		const name = this.name(command);
		if (this.#commands.has(name)) return name;
		if (this.#commands.size >= COMMANDS) {
			this.#drops.count("command_limit");
			return "_OTHER";
		}
		this.#commands.add(name);
		return name;
	}

	#redacted(text: string): string {
		const redact = this.#redact;
		if (redact === undefined) return text;
		const redacted: unknown = this.#drops.guard("hook_threw", () =>
			redact(text),
		);
		return typeof redacted === "string" ? redacted : UNREDACTED;
	}

	#cut(text: string, length: number): string {
		if (text.length <= length) return text;
		this.#drops.count("attribute_cut");
		return `${text.slice(0, length - 1)}…`;
	}
}

/** What a program shows of arguments may be anything, and some loggers throw where JSON does. */
export function plainArgs(args: unknown): unknown {
	try {
		return JSON.parse(JSON.stringify(args, textOfBigint));
	} catch {
		return inspect(args, { maxArrayLength: 20, maxStringLength: 500 });
	}
}

function textOfBigint(_name: string, value: unknown): unknown {
	return typeof value === "bigint" ? String(value) : value;
}
