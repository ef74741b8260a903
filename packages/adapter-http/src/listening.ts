import { join } from "node:path";
import { StartError } from "@snakepit/core";
import {
	type LaunchSpec,
	type ListenerAddress,
	programSpec,
	type WorkerProcess,
	type WorkerSlot,
} from "@snakepit/core/adapter";
import type { Address } from "./address.ts";
import { freePort } from "./free-port.ts";
import { HTTP_DEFAULTS, type HttpOptions } from "./options.ts";
import { fillIn, type Placeholder } from "./placeholders.ts";
import { printed } from "./printed-line.ts";
import type { HttpStartErrorCode } from "./start-error-codes.ts";

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
		ran: "no",
		message: `The line of listen.fromLine names ${JSON.stringify(named.slice(0, 200))}, which is not an http address of this machine: ${JSON.stringify(line.slice(0, 200))}.`,
	});
}

function requireProof(): void {
	if (process.platform === "linux") return;
	throw new StartError({
		code: "PLATFORM_UNSUPPORTED",
		ran: "no",
		message:
			'http(): this system cannot show which process listens on a port, so another program could answer instead of the worker. Use listen: "unix".',
	});
}
