import {
	Agent,
	type AgentOptions,
	type ClientRequest,
	type ClientRequestArgs,
	request as httpRequest,
	type IncomingMessage,
} from "node:http";
import { connect, type NetConnectOpts } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { SnakepitError, ToolError } from "@snakepit/core";
import {
	ConnectionBrokenError,
	callAborted,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import { translate } from "./failures.ts";
import { type Address, addressText, connectTo } from "./listening.ts";
import { NotProven, PortOwner } from "./port-owner.ts";
import type { Outgoing } from "./request.ts";

/** The request that checks whether a server accepts requests. */
export interface Probe {
	readonly method: "GET" | "HEAD";
	readonly path: string;
}

/** What it needs of the worker's process. */
type WorkerLink = Pick<
	WorkerProcess,
	"broken" | "exited" | "pid" | "unobserved"
>;

/** The HTTP server of one worker. */
export class WorkerServer {
	readonly #process: WorkerLink;
	readonly #agent: ServerAgent;
	#address: Address;
	#owner: PortOwner | undefined;
	readonly #probe: Probe;
	#ended: string | undefined;

	constructor(address: Address, process: WorkerLink, probe: Probe) {
		this.#address = address;
		this.#process = process;
		this.#probe = probe;
		this.#owner = ownerOf(address, process.pid);
		this.#agent = new ServerAgent(() => {
			if (this.#ended !== undefined) throw this.#over("no");
			this.#owner?.check();
		});
		// An earlier answer of it may still have to be read.
		void process.exited.then(() => {
			this.#ended ??= "it has ended";
		});
	}

	/** Sends one request. Resolves when the head of the response has arrived. An abort closes its connection. */
	async send(
		outgoing: Outgoing,
		signal: AbortSignal,
	): Promise<IncomingMessage> {
		if (this.#ended !== undefined) throw this.#over("no");
		signal.throwIfAborted();
		const { method, path, headers, body } = outgoing;
		const choice = this.#agent.choose(isSafe(outgoing));
		const request = httpRequest({
			...connectTo(this.address),
			...choice,
			...{ agent: this.#agent, method, path },
			headers: {
				...{ "accept-encoding": "identity", ...headers },
				...choice.headers,
			},
		});
		endWith(request, signal);
		const response = responseTo(request);
		if (body instanceof Readable) feed(request, body);
		else request.end(body);
		try {
			const answer = await response;
			if (request.reusedSocket) this.#agent.kept();
			return answer;
		} catch (error) {
			if (request.reusedSocket && !signal.aborted) this.#agent.closed();
			// The kept connection was closed meanwhile, and a safe request may be sent twice. Source: RFC 9110, section 9.2.2.
			if (signal.aborted || !request.reusedSocket || !isSafe(outgoing))
				throw error;
			return await this.send(outgoing, signal).catch((again: unknown) => {
				// It was sent once: the server may have ended because of it.
				throw wasNotSent(again) ? error : again;
			});
		}
	}

	get address(): Address {
		return this.#address;
	}

	/**
	 * Changes to the other address of this machine if the worker listens on its port there, and not where it is expected:
	 * `localhost` is `::1` for some programs.
	 */
	lookForListener(): void {
		if (this.#address.kind === "unix") return;
		const { host, port } = this.#address;
		const other: Address = {
			...{ kind: "tcp", port },
			host: host === "::1" ? "127.0.0.1" : "::1",
		};
		const owner = ownerOf(other, this.#process.pid);
		try {
			owner?.check();
		} catch {
			return; // Nor there.
		}
		this.#address = other;
		this.#owner = owner;
	}

	/** Whether other machines may also connect to it. */
	get isOpen(): boolean {
		return this.#owner?.isOpen === true;
	}

	/** Sends the probe, or another one. Resolves to the head of the answer. */
	async ask(
		signal: AbortSignal,
		{ method, path }: Probe = this.#probe,
	): Promise<IncomingMessage> {
		const request = { method, path, headers: {}, body: undefined };
		const { unobserved } = this.#process;
		const send = (): Promise<IncomingMessage> => this.send(request, signal);
		const response = await (unobserved === undefined
			? send()
			: unobserved(send));
		response.resume();
		return response;
	}

	/** Converts the failure of a call to a Snakepit error. Settles when the worker has finished with the call. */
	async failure(
		error: unknown,
		command: string,
		signal: AbortSignal,
		cancelled: "answered" | "unknown",
	): Promise<SnakepitError> {
		if (error instanceof SnakepitError && error.ran === "no") return error;
		// The response is complete.
		if (error instanceof ToolError) return error;
		if (this.#ended !== undefined) return this.#over("maybe");
		if (signal.aborted && cancelled === "unknown")
			return callAborted(command, signal, "unknown");
		const { message } = error as Error;
		if (wasNotSent(error))
			return this.#broke(`it no longer listens: ${message}`, "no");
		if (isGarbage(error as NodeJS.ErrnoException))
			return this.#broke(`it does not speak HTTP: ${message}`, "maybe");
		// If a server answers another request, it is still running. A single-threaded server has then finished the cancelled
		// request.
		const gone = await this.ask(new AbortController().signal).then(
			() => undefined,
			(reason: Error) => reason,
		);
		if (gone !== undefined)
			return this.#broke(`it no longer answers: ${gone.message}`, "maybe");
		return signal.aborted
			? callAborted(command, signal, "free")
			: translate(error as Error, command);
	}

	/** Closes all connections: pending requests reject. */
	end(why: string): void {
		this.#ended ??= why;
		this.#agent.destroy();
	}

	#broke(why: string, ran: "no" | "maybe"): ConnectionBrokenError {
		if (this.#ended === undefined) {
			const at = `${why} (${addressText(this.address)})`;
			this.end(at);
			this.#process.broken(new Error(at));
		}
		return this.#over(ran);
	}

	#over(ran: "no" | "maybe"): ConnectionBrokenError {
		return new ConnectionBrokenError({ ran, message: this.#ended ?? "" });
	}
}

function ownerOf(address: Address, pid: number): PortOwner | undefined {
	return address.kind === "tcp"
		? new PortOwner(address.host, address.port, pid)
		: undefined; // Its directory is the proof.
}

function wasNotSent(error: unknown): boolean {
	if (error instanceof SnakepitError) return error.ran === "no";
	const { syscall } = error as NodeJS.ErrnoException;
	return syscall === "connect" || error instanceof NotProven;
}

/** A response that is too long, or was cut off, is still HTTP. */
const WELL_FORMED = ["HPE_HEADER_OVERFLOW", "HPE_INVALID_EOF_STATE"];

function isGarbage({ code }: NodeJS.ErrnoException): boolean {
	return String(code).startsWith("HPE_") && !WELL_FORMED.includes(String(code));
}

function isSafe({ method, body }: Outgoing): boolean {
	return ["GET", "HEAD", "OPTIONS"].includes(method) && body === undefined;
}

/** An abort closes its connection. The option `signal` of a request does the same, with a dozen listeners. */
function endWith(request: ClientRequest, signal: AbortSignal): void {
	const abort = (): void => void request.destroy(signal.reason);
	signal.addEventListener("abort", abort, { once: true });
	request.once("close", () => signal.removeEventListener("abort", abort));
}

/** Each ends with the other. `pipeline` would not say why the body failed. */
function feed(request: ClientRequest, body: Readable): void {
	body.once("error", (error) => request.destroy(error));
	request.once("close", () => body.destroy());
	// A server may answer before it has read the whole body.
	request.once("response", (response) =>
		response.once("close", () => request.writableFinished || request.destroy()),
	);
	body.pipe(request);
}

function responseTo(request: ClientRequest): Promise<IncomingMessage> {
	return new Promise((resolve, reject) => {
		request.once("response", (response) => {
			// Some servers, such as uvicorn, close the connection after an exception without saying so.
			if ((response.statusCode ?? 0) >= 500) request.shouldKeepAlive = false;
			resolve(response);
		});
		// Later ones are of the response.
		request.on("error", reject);
	});
}

/** Servers close idle connections after 2 s or more: an older connection may be closed just when a request is sent. */
const IDLE_MS = 1_000;
const OPTIONS: AgentOptions = { keepAlive: true, timeout: IDLE_MS };
/** A server that closes a connection after its response does so immediately, or as soon as a busy machine lets it: one that was idle for this long is kept. */
const KEPT_MS = 500;

/** Options of a request: which connection it takes. */
interface ConnectionChoice {
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
class ServerAgent extends Agent {
	readonly #check: () => void;
	/** The kept connections that are idle, with what tells that they were for long. */
	readonly #idle = new Map<Duplex, NodeJS.Timeout>();
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
		if (isRepeatable || this.#server === "keeps") return {};
		// Kept for a while where it may tell what the server does.
		return {
			own: ++this.#own,
			...(this.#server === "closes" && { headers: { connection: "close" } }),
		};
	}

	/** A request on a kept connection was answered, or one was idle for long. */
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
		// After what has arrived was read: this program may have had no time for it.
		const isLong = (): void => {
			if (this.#idle.has(socket)) this.kept();
		};
		const timer = setTimeout(() => setImmediate(isLong), KEPT_MS);
		this.#idle.set(socket, timer.unref());
		socket.once("end", this.#ended);
		if (!this.#known.has(socket))
			socket.once("close", () => this.#forget(socket));
		this.#known.add(socket);
		return true;
	}

	override reuseSocket(socket: Duplex, request: ClientRequest): void {
		this.#forget(socket);
		socket.off("end", this.#ended);
		super.reuseSocket(socket, request);
	}

	#forget(socket: Duplex): void {
		clearTimeout(this.#idle.get(socket));
		this.#idle.delete(socket);
	}
}
