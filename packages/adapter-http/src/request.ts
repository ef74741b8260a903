import { Readable } from "node:stream";
import { isUint8Array } from "node:util/types";
import { InputError, type Ran } from "@snakepit/core";
import type { CallOptions } from "@snakepit/core/adapter";
import { jsonLine, messageOf } from "@snakepit/core/adapter";

/** One request, ready to be sent. */
export interface Outgoing {
	readonly method: string;
	/** Path and query. */
	readonly path: string;
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string | Uint8Array | Readable | undefined;
}

const COMMAND = /^([A-Z]+) (\/[^\s#]*)$/;
const PLACEHOLDER = /\{(\w+)\}/g;
/** Their arguments are the query: a body would have no meaning. Source: RFC 9110, section 9.3. */
const WITHOUT_BODY: readonly string[] = ["GET", "HEAD", "DELETE", "OPTIONS"];

/**
 * The request of a command such as `POST /embed` or `GET /users/{id}`. Arguments that the path names go there; the
 * others are the query, or for a method with a body the body: bytes as they are, anything else as JSON. With `input` the
 * body has its items, one line of JSON each.
 *
 * @throws InputError `TOOL_NOT_FOUND`, `INVALID_ARGUMENTS`, `VALUE_NOT_TRANSFERABLE`, `MESSAGE_TOO_LARGE`.
 */
export function outgoing(
	command: string,
	args: unknown,
	{
		input,
		context,
		traceContext,
	}: Pick<CallOptions, "input" | "context" | "traceContext">,
	maxMessageBytes: number,
): Outgoing {
	const [, method, template] = COMMAND.exec(command) ?? [];
	if (method === undefined || template === undefined) throw noCommand(command);
	const named = new Set<string>();
	const filled = template.replace(PLACEHOLDER, (_, name: string) => {
		named.add(name);
		const text = scalar(memberOf(args, name), `$.${name}`);
		// The rules of URLs would change the path if it contained these.
		if (["", ".", ".."].includes(text))
			throw invalid(`$.${name}`, `cannot be ${JSON.stringify(text)} in a path`);
		return encodeURIComponent(text);
	});
	const rest = without(args, named);
	const hasBody = input === undefined && !WITHOUT_BODY.includes(method);
	const request = { method, path: pathOf(filled, hasBody ? undefined : rest) };
	if (input !== undefined) {
		const headers = { ...traceContext, "content-type": "application/x-ndjson" };
		const lines = jsonLines(input, context, maxMessageBytes);
		return { ...request, headers, body: Readable.from(lines) };
	}
	if (!hasBody || rest === undefined)
		return { ...request, headers: traceContext, body: undefined };
	const isBytes = isUint8Array(rest);
	const body = isBytes ? rest : json(rest, "no");
	if (Buffer.byteLength(body) > maxMessageBytes)
		throw tooLarge(Buffer.byteLength(body), maxMessageBytes, "no");
	const type = isBytes ? "application/octet-stream" : "application/json";
	return {
		...request,
		headers: { ...traceContext, "content-type": type },
		body,
	};
}

/** Paths that the rules of URLs do not change: applying the rules would take as long as the rest of a request's head. */
const PLAIN = /^[\w/-]+$/;

/** A path with its query. @param args that are added to the query. */
function pathOf(path: string, args: unknown): string {
	if (PLAIN.test(path) && (args === undefined || args === null)) return path;
	const url = new URL(`http://localhost${path}`);
	addQuery(url.searchParams, args);
	return `${url.pathname}${url.search}`;
}

/** An error in the caller's input, not in the request. */
export class InputFailed extends Error {
	override readonly name = "InputFailed";
}

async function* jsonLines(
	input: AsyncIterable<unknown> | Iterable<unknown>,
	context: CallOptions["context"],
	maxMessageBytes: number,
): AsyncGenerator<string> {
	const iterator =
		Symbol.asyncIterator in input
			? input[Symbol.asyncIterator]()
			: input[Symbol.iterator]();
	let isOpen = false;
	try {
		for (;;) {
			isOpen = false;
			const step = await context.runInAsyncScope(() => iterator.next());
			if (step.done === true) return;
			isOpen = true;
			const line = `${json(step.value, "maybe", jsonLine)}\n`;
			const bytes = Buffer.byteLength(line);
			if (bytes > maxMessageBytes)
				throw tooLarge(bytes, maxMessageBytes, "maybe");
			yield line;
		}
	} catch (cause) {
		throw new InputFailed(String(cause), { cause });
	} finally {
		if (isOpen) await iterator.return?.();
	}
}

function memberOf(args: unknown, name: string): unknown {
	return typeof args === "object" && args !== null && Object.hasOwn(args, name)
		? (args as Record<string, unknown>)[name]
		: undefined;
}

function without(args: unknown, named: ReadonlySet<string>): unknown {
	if (named.size === 0) return args;
	const rest = Object.entries(args as object).filter(
		([name]) => !named.has(name),
	);
	return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

function addQuery(query: URLSearchParams, args: unknown): void {
	if (args === undefined || args === null) return;
	if (typeof args !== "object" || !isPlain(args))
		throw invalid("$", "must be an object: it is the query of the request");
	for (const [name, value] of Object.entries(args))
		for (const each of Array.isArray(value) ? value : [value])
			if (each !== undefined) query.append(name, scalar(each, `$.${name}`));
}

function isPlain(value: object): boolean {
	const prototype: unknown = Object.getPrototypeOf(value);
	return prototype === Object.prototype || prototype === null;
}

function scalar(value: unknown, path: string): string {
	if (!["string", "number", "boolean", "bigint"].includes(typeof value))
		throw invalid(
			path,
			`must be a string, a number or a boolean, got ${value === null ? "null" : typeof value}`,
		);
	const text = String(value);
	// A URL cannot contain half a surrogate pair.
	if (!text.isWellFormed())
		throw invalid(path, "is no well-formed Unicode text (a lone surrogate)");
	return text;
}

function json(
	value: unknown,
	ran: Ran,
	write: (value: unknown) => string | undefined = JSON.stringify,
): string {
	let text: string | undefined;
	try {
		text = write(value);
	} catch (cause) {
		throw notJson(messageOf(cause), ran, cause);
	}
	if (text === undefined) throw notJson(`it is of type ${typeof value}`, ran);
	return text;
}

function noCommand(command: string): InputError {
	return new InputError({
		code: "TOOL_NOT_FOUND",
		ran: "no",
		message: `http(): a command is a method and a path, such as "POST /embed" or "GET /users/{id}", got ${JSON.stringify(command.slice(0, 100))}.`,
	});
}

function invalid(path: string, problem: string): InputError {
	const message = `http(): ${path === "$" ? "the arguments" : path} ${problem}.`;
	return new InputError({
		code: "INVALID_ARGUMENTS",
		ran: "no",
		message,
		path,
	});
}

function notJson(why: string, ran: Ran, cause?: unknown): InputError {
	return new InputError({
		code: "VALUE_NOT_TRANSFERABLE",
		ran,
		message: `http(): the arguments, or an item of the input, cannot be written as JSON: ${why}`,
		cause,
	});
}

function tooLarge(bytes: number, limit: number, ran: Ran): InputError {
	return new InputError({
		code: "MESSAGE_TOO_LARGE",
		ran,
		message: `http(): the body of the request, or an item of the input, has ${bytes} bytes, and maxMessageBytes is ${limit}. Raise it, or send the items as \`input\`.`,
	});
}
