import { join } from "node:path";
import { StartError } from "@snakepit/core";
import {
	type LaunchSpec,
	programSpec,
	type WorkerProcess,
	type WorkerSlot,
} from "@snakepit/core/adapter";
import type { Address } from "./address.ts";
import { freePort } from "./free-port.ts";
import { HTTP_DEFAULTS, type HttpOptions } from "./options.ts";
import { fillIn } from "./placeholders.ts";
import { printed } from "./printed-line.ts";
import type { HttpStartErrorCode } from "./start-error-codes.ts";

const LOOPBACK: readonly string[] = ["127.0.0.1", "localhost", "0.0.0.0"];
const LOOPBACK_6: readonly string[] = ["[::1]", "[::]"];

/** How the programs of one adapter are started and found. */
export class Listening {
	readonly #options: HttpOptions;
	readonly #ports = new WeakMap<WorkerSlot, number>();

	constructor(options: HttpOptions) {
		this.#options = options;
	}

	/** The program of a slot, which is told where to listen. */
	launch(slot: WorkerSlot): LaunchSpec | Promise<LaunchSpec> {
		const { listen = HTTP_DEFAULTS.listen } = this.#options;
		const spec = programSpec(this.#options, slot);
		if (listen === "unix")
			return fillIn(spec, '"unix"', ["socket", socketOf(slot)]);
		requireProof();
		return listen === "tcp"
			? this.#onPort(slot, spec)
			: fillIn(spec, "{ fromLine }", undefined);
	}

	async #onPort(slot: WorkerSlot, spec: LaunchSpec): Promise<LaunchSpec> {
		const port = await freePort();
		this.#ports.set(slot, port);
		return fillIn(spec, '"tcp"', ["port", String(port)]);
	}

	/**
	 * Where the program of a worker listens.
	 *
	 * @throws StartError `ADDRESS_NOT_FOUND`; the signal's reason when it aborts.
	 */
	async address(process: WorkerProcess, signal: AbortSignal): Promise<Address> {
		const { listen = HTTP_DEFAULTS.listen } = this.#options;
		if (listen === "unix")
			return { kind: "unix", socketPath: socketOf(process.slot) };
		if (listen !== "tcp")
			return namedBy(await printed(process, listen, signal));
		const port = this.#ports.get(process.slot) ?? 0;
		return { kind: "tcp", host: "127.0.0.1", port };
	}
}

/** Nobody but this user can put a socket into a slot's directory, and each incarnation has its own. */
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
		message: `The line of listen.fromLine names ${JSON.stringify(named.slice(0, 200))}, which is no http address of this machine: ${JSON.stringify(line.slice(0, 200))}.`,
	});
}

function requireProof(): void {
	if (process.platform === "linux") return;
	throw new StartError({
		code: "PLATFORM_UNSUPPORTED",
		ran: "no",
		message:
			'http(): on this system nothing shows that it is the worker who listens on a port. Use listen: "unix".',
	});
}
