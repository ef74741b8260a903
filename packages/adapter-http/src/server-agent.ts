import { Agent, type AgentOptions } from "node:http";
import { connect, type NetConnectOpts } from "node:net";
import type { Duplex } from "node:stream";

/** Servers close idle connections after 2 s or more: an older connection may be closed just when a request is sent. */
const IDLE_MS = 1_000;
const OPTIONS: AgentOptions = { keepAlive: true, timeout: IDLE_MS };

/** Keeps connections to one server, and sends nothing over a new one before it is checked. */
export class ServerAgent extends Agent {
	readonly #check: () => void;

	/** @param check throws if the connection did not reach the worker. */
	constructor(check: () => void) {
		super(OPTIONS);
		this.#check = check;
	}

	override createConnection(
		options: NetConnectOpts,
		connected: (error: Error | null, socket: Duplex) => void,
	): undefined {
		const socket = connect(options);
		const failed = (error: Error): void => connected(error, socket);
		socket.once("error", failed);
		socket.once("connect", () => {
			socket.off("error", failed);
			try {
				this.#check();
			} catch (error) {
				socket.destroy();
				return connected(error as Error, socket);
			}
			connected(null, socket);
		});
	}
}
