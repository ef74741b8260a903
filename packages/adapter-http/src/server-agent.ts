import {
	Agent,
	type AgentOptions,
	type ClientRequest,
	type ClientRequestArgs,
} from "node:http";
import { connect, type NetConnectOpts } from "node:net";
import type { Duplex } from "node:stream";

/** Servers close idle connections after 2 s or more: an older connection may be closed just when a request is sent. */
const IDLE_MS = 1_000;
const OPTIONS: AgentOptions = { keepAlive: true, timeout: IDLE_MS };
/** A server that closes a connection after its response does so at once: one that was idle for this long is kept. */
const KEPT_MS = 100;

/** Options of a request: which connection it takes. */
export interface ConnectionChoice {
	/** It takes a connection of its own, which no other request takes after it. */
	readonly own?: number;
	readonly headers?: { readonly connection: "close" };
}

/**
 * Keeps connections to one server, and sends nothing over a new one before it is checked.
 *
 * A server may close a connection after a response and not say so. What was sent there meanwhile is lost, and only the
 * server knows whether it was read. So a request that must not be sent twice takes a kept connection only of a server
 * that is known to keep them.
 */
export class ServerAgent extends Agent {
	readonly #check: () => void;
	/** When each kept connection became idle, of `performance.now()`. */
	readonly #idle = new Map<Duplex, number>();
	readonly #known = new WeakSet<Duplex>();
	#server: "unknown" | "keeps" | "closes" = "unknown";
	#own = 0;
	readonly #ended = (): void => this.closed();

	/** @param check throws if the connection did not reach the worker. */
	constructor(check: () => void) {
		super(OPTIONS);
		this.#check = check;
	}

	/** @param isRepeatable whether the request may be sent again where its connection was closed meanwhile. */
	choose(isRepeatable: boolean): ConnectionChoice {
		if (isRepeatable) return {};
		if (this.#server === "unknown") {
			const before = performance.now() - KEPT_MS;
			for (const since of this.#idle.values())
				if (since < before) this.#server = "keeps";
		}
		if (this.#server === "keeps") return {};
		// Kept for a while where it may tell what the server does.
		return {
			own: ++this.#own,
			...(this.#server === "closes" && { headers: { connection: "close" } }),
		};
	}

	/** A request on a kept connection was answered. */
	kept(): void {
		if (this.#server === "unknown") this.#server = "keeps";
	}

	/** The server closed a kept connection. */
	closed(): void {
		this.#server = "closes";
	}

	/** Requests with the same name share kept connections. */
	override getName(options?: ClientRequestArgs & ConnectionChoice): string {
		const name = super.getName(options);
		return options?.own === undefined ? name : `${name}:${options.own}`;
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

	override keepSocketAlive(socket: Duplex): boolean {
		// It returns whether the socket is kept, which its type does not say.
		const isKept = Boolean(super.keepSocketAlive(socket));
		if (!isKept) return false;
		this.#idle.set(socket, performance.now());
		socket.once("end", this.#ended);
		if (!this.#known.has(socket))
			socket.once("close", () => this.#idle.delete(socket));
		this.#known.add(socket);
		return true;
	}

	override reuseSocket(socket: Duplex, request: ClientRequest): void {
		this.#idle.delete(socket);
		socket.off("end", this.#ended);
		super.reuseSocket(socket, request);
	}
}
