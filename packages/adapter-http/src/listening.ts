import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { OptionsError, StartError } from "@snakepit/core";
import {
	type LaunchSpec,
	type ListenerAddress,
	programSpec,
	type WorkerProcess,
	type WorkerSlot,
} from "@snakepit/core/adapter";
import type { HttpStartErrorCode } from "./failures.ts";
import {
	HTTP_DEFAULTS,
	type HttpOptions,
	type PrintedLine,
} from "./options.ts";

/** Where a worker listens. */
export type Address =
	| { readonly kind: "unix"; readonly socketPath: string }
	| {
			readonly kind: "tcp";
			readonly host: "127.0.0.1" | "::1";
			readonly port: number;
	  };

/** The host name for HTTP clients. A server behind a Unix socket has no name, so it is `localhost`. */
export function originOf(address: Address): string {
	if (address.kind === "unix") return "http://localhost";
	const { host, port } = address;
	return `http://${host === "::1" ? "[::1]" : host}:${port}`;
}

/** For people. */
export function addressText(address: Address): string {
	return address.kind === "unix"
		? `unix:${address.socketPath}`
		: originOf(address);
}

/** For `node:http` and `node:net`. */
export function connectTo(
	address: Address,
):
	| { readonly socketPath: string }
	| { readonly host: string; readonly port: number } {
	if (address.kind === "unix") return { socketPath: address.socketPath };
	const { host, port } = address;
	return { host, port };
}

/** The placeholder of each way to listen. */
const PLACEHOLDER = { unix: "socket", inherited: "fd", tcp: "port" } as const;
/** The first descriptor after the standard ones. */
const INHERITED = 3;
const LOOPBACK: readonly string[] = ["127.0.0.1", "localhost", "0.0.0.0"];
const LOOPBACK_6: readonly string[] = ["[::1]", "[::]"];

/** How the programs of one adapter are started and found. */
export class Listening {
	readonly #options: HttpOptions;
	readonly #ports = new WeakMap<WorkerSlot, number>();

	constructor(options: HttpOptions) {
		this.#options = options;
		const { command, env } = options;
		// The result of a function is checked when it is called.
		if (typeof command === "function") return;
		const spec = { executable: "", args: command, env };
		fillIn(spec, this.#listen, this.#placeholder(""));
	}

	get #listen(): NonNullable<HttpOptions["listen"]> {
		return this.#options.listen ?? HTTP_DEFAULTS.listen;
	}

	#placeholder(value: string): readonly [Placeholder, string] | undefined {
		return typeof this.#listen === "object"
			? undefined
			: [PLACEHOLDER[this.#listen], value];
	}

	/** The program of a slot, with the place where to listen. */
	launch(slot: WorkerSlot): LaunchSpec | Promise<LaunchSpec> {
		const spec = programSpec(this.#options, slot);
		const at = (value: string | number): LaunchSpec =>
			fillIn(spec, this.#listen, this.#placeholder(String(value)));
		if (this.#listen === "unix") return at(socketOf(slot));
		if (this.#listen === "inherited")
			return {
				...at(INHERITED),
				descriptors: [{ fd: INHERITED, kind: "unix-listener" }],
			};
		requireProof();
		if (this.#listen !== "tcp") return at("");
		return freePort().then((port) => {
			this.#ports.set(slot, port);
			return at(port);
		});
	}

	/**
	 * Where the program of a worker listens.
	 *
	 * @throws StartError `ADDRESS_NOT_FOUND`; the signal's reason when it aborts.
	 */
	async address(process: WorkerProcess, signal: AbortSignal): Promise<Address> {
		const listen = this.#listen;
		if (listen === "unix")
			return { kind: "unix", socketPath: socketOf(process.slot) };
		if (listen === "inherited") return bound(process.listener(INHERITED));
		if (listen !== "tcp")
			return namedBy(await printed(process, listen, signal));
		const port = this.#ports.get(process.slot) ?? 0;
		return { kind: "tcp", host: "127.0.0.1", port };
	}
}

function bound(address: ListenerAddress): Address {
	return "path" in address
		? { kind: "unix", socketPath: address.path }
		: { kind: "tcp", ...address };
}

/** Only this user can create a socket in a slot's directory, and each incarnation has its own directory. */
function socketOf({ directory }: WorkerSlot): string {
	return join(directory, "http");
}

/** The address that a line names. @throws StartError `ADDRESS_NOT_FOUND`. */
export function namedBy({ 0: line, groups }: RegExpExecArray): Address {
	const named = groups?.["url"] ?? `http://127.0.0.1:${groups?.["port"]}`;
	const url = URL.canParse(named) ? new URL(named) : undefined;
	const port = Number(url?.port || 80);
	if (url?.protocol === "http:" && LOOPBACK.includes(url.hostname))
		return { kind: "tcp", host: "127.0.0.1", port };
	if (url?.protocol === "http:" && LOOPBACK_6.includes(url.hostname))
		return { kind: "tcp", host: "::1", port };
	throw new StartError<HttpStartErrorCode>({
		code: "ADDRESS_NOT_FOUND",
		message: `The line of listen.fromLine names ${JSON.stringify(named.slice(0, 200))}, which is not an http address of this machine: ${JSON.stringify(line.slice(0, 200))}.`,
	});
}

function requireProof(): void {
	if (process.platform === "linux") return;
	throw new StartError({
		code: "PLATFORM_UNSUPPORTED",
		message:
			'http(): this system cannot show which process listens on a port, so another program could answer instead of the worker. Use listen: "unix".',
	});
}

/** The placeholders, in a command or its environment, for the place where the program listens. */
type Placeholder = "socket" | "port" | "fd";

const PLACEHOLDERS = /\{(socket|port|fd)\}/g;

/**
 * Replaces a placeholder by its value, in arguments and in variables.
 *
 * @param value `undefined`: there is none, because the program chooses where it listens.
 * @throws OptionsError `INVALID_OPTION` when the placeholder is missing, or another one is there.
 */
function fillIn(
	spec: LaunchSpec,
	listen: string | object,
	value: readonly [Placeholder, string] | undefined,
): LaunchSpec {
	const listenText =
		typeof listen === "string" ? `"${listen}"` : "{ fromLine }";
	let used = 0;
	const filled = (text: string): string =>
		text.replace(PLACEHOLDERS, (placeholder, name: string) => {
			if (value === undefined || name !== value[0])
				throw misplaced(placeholder, listenText, value?.[0]);
			used++;
			return value[1];
		});
	const args = spec.args?.map(filled);
	const env = Object.fromEntries(
		Object.entries(spec.env ?? {}).map(([name, text]) => [
			name,
			text === undefined ? undefined : filled(text),
		]),
	);
	if (value !== undefined && used === 0) throw missing(value[0], listenText);
	return { ...spec, args, env };
}

function missing(name: Placeholder, listen: string): OptionsError {
	return new OptionsError({
		code: "INVALID_OPTION",
		message: `http: with listen: ${listen} the program learns from its command or environment where to listen: put {${name}} into "command" or "env".`,
	});
}

function misplaced(
	placeholder: string,
	listen: string,
	right: Placeholder | undefined,
): OptionsError {
	return new OptionsError({
		code: "INVALID_OPTION",
		message: `http: ${placeholder} is not available with listen: ${listen}, which ${right === undefined ? "has no placeholder" : `has {${right}}`}.`,
	});
}

/** A port of 127.0.0.1 that is free now. Another program may take it a moment later, so the owner of the port is checked before use. */
async function freePort(): Promise<number> {
	const server = createServer().listen({
		port: 0,
		host: "127.0.0.1",
		exclusive: true,
	});
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	server.close();
	await once(server, "close");
	return port;
}

/**
 * Waits for a line, on whichever output the program prints it.
 *
 * @throws Error when both end before; the signal's reason when it aborts.
 */
export async function printed(
	process: Pick<WorkerProcess, "line">,
	{ fromLine }: PrintedLine,
	signal: AbortSignal,
): Promise<RegExpExecArray> {
	const settled = new AbortController();
	const either = AbortSignal.any([signal, settled.signal]);
	try {
		return await Promise.any([
			process.line(fromLine, "stdout", either),
			process.line(fromLine, "stderr", either),
		]);
	} catch (error) {
		signal.throwIfAborted();
		throw (error as AggregateError).errors[0];
	} finally {
		settled.abort();
	}
}
