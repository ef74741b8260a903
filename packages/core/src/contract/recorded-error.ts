import { fileURLToPath } from "node:url";
import type { RecordedError } from "./process-registry.ts";
import { FOREIGN_PYTHON, PYTHON_FRAME } from "./telling-lines.ts";
import { withoutLastLines } from "./text.ts";
import { messageOf, withFallback } from "./thrown.ts";

const MESSAGE_CHARACTERS = 2_000;
const PLACE_CHARACTERS = 500;
const NAME_CHARACTERS = 200;
/** Of a stack, and of a text with a traceback in it: those of an ordinary one many times over. */
const STACK_CHARACTERS = 30_000;
const LINE_CHARACTERS = 2_000;
/** A cause has a cause, and so on: more explain nothing. */
const MOST_CAUSES = 3;

/** A thrown value as the ledger keeps it, without the last lines of a worker. Never throws. */
export function recordedError(thrown: unknown): RecordedError {
	const code = field(thrown, "code");
	const text = messages(thrown);
	const at = placeIn(field(thrown, "stack")) ?? pythonPlaceIn(text);
	return {
		name: nameOf(thrown).slice(0, NAME_CHARACTERS),
		code:
			typeof code === "string" || typeof code === "number"
				? String(code).slice(0, NAME_CHARACTERS)
				: undefined,
		message: text.slice(0, MESSAGE_CHARACTERS),
		at: at?.slice(0, PLACE_CHARACTERS),
	};
}

/** The innermost place of the program's own code in a traceback of Python, as a failed start has it in its message. */
function pythonPlaceIn(message: string): string | undefined {
	const frame = message
		.slice(0, STACK_CHARACTERS)
		.split("\n")
		.filter((line) => line.length <= LINE_CHARACTERS)
		.findLast((line) => PYTHON_FRAME.test(line) && !FOREIGN_PYTHON.test(line));
	const [, file, line, name] = PYTHON_FRAME.exec(frame ?? "") ?? [];
	return file === undefined ? undefined : `${name} (${file}:${line})`;
}

/** Its class; where that has only the name that it has inherited, the class that made it. */
function nameOf(thrown: unknown): string {
	if (typeof thrown !== "object" || thrown === null)
		return `thrown ${thrown === null ? "null" : typeof thrown}`;
	const name = field(thrown, "name");
	const made = field(field(thrown, "constructor"), "name");
	const isInherited = typeof name !== "string" || name === "Error";
	if (isInherited && typeof made === "string" && made !== "") return made;
	return typeof name === "string" ? name : "Error";
}

function messages(thrown: unknown): string {
	let text = messageAlone(thrown);
	let cause = field(thrown, "cause");
	for (let depth = 0; depth < MOST_CAUSES && cause !== undefined; depth++) {
		const message = messageAlone(cause);
		// A remedy often repeats what it explains.
		if (!text.includes(message))
			text += ` (cause: ${nameOf(cause)}: ${message})`;
		cause = field(cause, "cause");
	}
	return text;
}

function messageAlone(thrown: unknown): string {
	const message = withoutLastLines(messageOf(thrown));
	if (message !== "") return message;
	// As Node's own AggregateError of the addresses that it tried.
	const errors = field(thrown, "errors");
	return Array.isArray(errors) && errors.length > 0
		? errors.slice(0, MOST_CAUSES).map(messageOf).join("; ")
		: "";
}

/** Its own code may throw. */
function field(value: unknown, name: string): unknown {
	return withFallback(
		undefined,
		() =>
			(value as Readonly<Record<string, unknown>> | undefined | null)?.[name],
	);
}

/** "    at async name (file:///path:1:2)", "    at /path:1:2". */
const FRAME =
	/^\s+at (?:async )?(?:(.+?) \()?((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/]|webpack).*?:\d+:\d+)\)?$/;
/** What Node prints above the stack of an error in the text of a module: "/path:1". */
const MODULE = /^((?:file:\/\/)?\/.+:\d+)$/;
const PACKAGES = /[\\/]node_modules[\\/]/;
const OWN_PACKAGES = /[\\/]node_modules[\\/]@snakepit[\\/]/;
/** This file in a checkout, where the packages of Snakepit are not among the installed ones. */
const CHECKOUT = /^(.*\/packages\/)core\/src\/contract\/recorded-error\.ts:/;

/**
 * The first place of a stack that is the program's own code: not Node's, not that of an installed package, and not that
 * of Snakepit. Where there is none, the first of an installed package.
 */
export function placeIn(stack: unknown): string | undefined {
	if (typeof stack !== "string") return undefined;
	// The message is above the frames, and may be long.
	const lines = stack.slice(-STACK_CHARACTERS).split("\n");
	const frames = framesOf(lines).filter(({ file }) => !isSnakepit(file));
	const own = frames.find(({ file }) => !PACKAGES.test(file));
	const [first = ""] = stack.slice(0, LINE_CHARACTERS).split("\n", 1);
	const inModule = MODULE.exec(first)?.[1];
	if (own === undefined && inModule !== undefined) return pathOf(inModule);
	const shown = own ?? frames[0];
	if (shown === undefined) return undefined;
	const path = pathOf(shown.file);
	// "Timeout.tick [as _onTimeout]".
	const name = shown.name?.replace(/ \[as .*\]$/, "");
	return name === undefined || name === "Object.<anonymous>"
		? path
		: `${name} (${path})`;
}

interface Frame {
	readonly name: string | undefined;
	/** With line and column. */
	readonly file: string;
}

function framesOf(lines: readonly string[]): readonly Frame[] {
	return lines.flatMap((line) => {
		if (line.length > LINE_CHARACTERS) return [];
		const [, name, file] = FRAME.exec(line) ?? [];
		return file === undefined ? [] : [{ name, file }];
	});
}

/** `undefined` where the packages are installed. */
let checkout: string | undefined | "unknown" = "unknown";

function isSnakepit(file: string): boolean {
	if (OWN_PACKAGES.test(file)) return true;
	if (checkout === "unknown") {
		const here = framesOf((new Error().stack ?? "").split("\n"))[0];
		checkout = CHECKOUT.exec(here?.file ?? "")?.[1];
	}
	if (checkout === undefined || !file.startsWith(checkout)) return false;
	return /^[\w-]+\/(?:src|dist)\//.test(file.slice(checkout.length));
}

function pathOf(file: string): string {
	if (!file.startsWith("file:")) return file;
	return withFallback(file, () => {
		const [, url = file, position = ""] = /^(.*?)((?::\d+)+)$/.exec(file) ?? [];
		return fileURLToPath(url) + position;
	});
}
