import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import {
	CallAbortedError,
	type SnakepitError,
	StartError,
} from "@snakepit/core";
import {
	type Adapter,
	type CallOptions,
	type Connection,
	callAborted,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import {
	type HttpStartErrorCode,
	HttpStatusError,
	refused,
} from "./failures.ts";
import { type HttpClient, httpClient } from "./http-client.ts";
import { addressText, Listening, printed } from "./listening.ts";
import {
	checkHttpOptions,
	HTTP_DEFAULTS,
	type HttpOptions,
} from "./options.ts";
import { NotProven } from "./port-owner.ts";
import { outgoing } from "./request.ts";
import { beginningOf, itemsOf, kindOf, wholeOf } from "./response.ts";
import { type Probe, WorkerServer } from "./worker-server.ts";

/** Of a refusal. */
const REFUSAL_BYTES = 65_536;

/**
 * Workers are programs that serve HTTP. A command is a method and a path, as `POST /embed` or `GET /users/{id}`; its
 * arguments are the body as JSON, or the query. `pool.use` gives an `HttpClient`, whose `fetch` reaches one worker.
 *
 * @throws OptionsError.
 */
export function http(options: HttpOptions): Adapter<HttpClient> {
	checkHttpOptions(options);
	const listening = new Listening(options);
	return {
		name: options.name ?? "http",
		madeFrom: options,
		launch: (slot) => listening.launch(slot),
		connect: async (process, signal) => {
			const address = await listening.address(process, signal);
			const server = new WorkerServer(address, process, probeOf(options));
			try {
				return await converse(server, process, options, signal);
			} catch (error) {
				server.end("its start failed");
				throw error;
			}
		},
	};
}

async function converse(
	server: WorkerServer,
	process: WorkerProcess,
	options: HttpOptions,
	starting: AbortSignal,
): Promise<Connection<HttpClient>> {
	const {
		ready,
		health,
		body = HTTP_DEFAULTS.body,
		cancelled = HTTP_DEFAULTS.cancelled,
		maxMessageBytes = HTTP_DEFAULTS.maxMessageBytes,
	} = options;
	const answered =
		typeof ready === "object"
			? void (await printed(process, ready, starting))
			: await untilReady(
					server,
					ready === undefined ? () => true : isOk,
					starting,
					(status) =>
						warn(
							process,
							status === undefined
								? `Nothing answers at ${addressText(server.address)}: the server has to listen there. Its command gets that place by {socket} or {port}.`
								: `GET ${ready} returned ${status}: the worker is ready when it returns 2xx.`,
						),
				);
	if (server.isOpen)
		warn(
			process,
			`Other machines may connect to ${addressText(server.address)}: it listens on all addresses.`,
		);
	let running = 0;

	/** The response to a call, when its status is 2xx. */
	const responseTo = async (
		command: string,
		args: unknown,
		call: CallOptions,
		signal: AbortSignal,
	): Promise<IncomingMessage> => {
		if (signal.aborted) throw callAborted(command, signal, "unused");
		const request = outgoing(command, args, call, maxMessageBytes);
		const send = (): Promise<IncomingMessage> => server.send(request, signal);
		const response = await (call.sending === undefined
			? send()
			: call.sending.inTrace(send));
		const { statusCode = 0, statusMessage = "", headers } = response;
		if (isOk(statusCode)) return response;
		const text = await beginningOf(response, REFUSAL_BYTES);
		throw refused(
			command,
			new HttpStatusError(statusCode, statusMessage, headers, text),
		);
	};
	const kind = ({ headers }: IncomingMessage) =>
		body === "auto" ? kindOf(headers["content-type"]) : body;

	return {
		client: httpClient(server),
		facts: {
			listens: addressText(server.address),
			...(answered?.headers["server"] && {
				server: answered.headers["server"],
			}),
		},
		execute: async (command, args, call) => {
			const { signal } = call;
			running++;
			try {
				const response = await responseTo(command, args, call, signal);
				return await wholeOf(response, kind(response), maxMessageBytes);
			} catch (error) {
				throw await server.failure(error, command, signal, cancelled);
			} finally {
				running--;
			}
		},
		stream: async function* (command, args, call) {
			const closed = new AbortController();
			const signal = AbortSignal.any([call.signal, closed.signal]);
			let state: "open" | "over" = "open";
			running++;
			try {
				const response = await responseTo(command, args, call, signal);
				yield* itemsOf(response, kind(response), maxMessageBytes);
				state = "over";
			} catch (error) {
				state = "over";
				throw await server.failure(error, command, signal, cancelled);
			} finally {
				running--;
				if (state === "open") {
					closed.abort();
					await finished(
						server.failure(closed.signal.reason, command, signal, cancelled),
					);
				}
			}
		},
		...(health !== undefined && {
			ping: async (signal: AbortSignal) => {
				const { statusCode = 0 } = await server.ask(signal, {
					method: "GET",
					path: health,
				});
				if (!isOk(statusCode))
					throw new Error(`GET ${health} was answered with ${statusCode}.`);
				return { callsRunning: running };
			},
		}),
		[Symbol.asyncDispose]: async () =>
			server.end("its conversation was closed"),
	};
}

/** After the consumer left a stream early. @throws SnakepitError unless the worker has finished with it. */
async function finished(failure: Promise<SnakepitError>): Promise<void> {
	const error = await failure;
	if (!(error instanceof CallAbortedError) || error.worker === "unknown")
		throw error;
}

function warn(process: WorkerProcess, message: string): void {
	const wallMs = Date.now();
	process.log({ level: "warning", logger: "http", message, wallMs });
}

const isOk = (status: number): boolean => status >= 200 && status < 300;

function probeOf({ ready, health }: HttpOptions): Probe {
	const path = typeof ready === "string" ? ready : health;
	return path === undefined
		? { method: "HEAD", path: "/" }
		: { method: "GET", path };
}

/** The pause between two requests to a server that is starting; it doubles each time. */
const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 100;

/**
 * Waits until a server that starts gives an answer that `suffices`.
 *
 * @param late called when the time to start is over, with the last status; `undefined` where there was no answer.
 * @throws StartError `LISTENER_NOT_PROVEN`; AbortError.
 */
async function untilReady(
	server: WorkerServer,
	suffices: (status: number) => boolean,
	signal: AbortSignal,
	late: (status: number | undefined) => void,
): Promise<IncomingMessage> {
	let status: number | undefined;
	const aborted = (): void => {
		const { reason } = signal;
		if (reason instanceof StartError && reason.code === "START_TIMEOUT")
			late(status);
	};
	signal.addEventListener("abort", aborted);
	try {
		for (let wait = FIRST_LOOK_MS; ; wait = Math.min(wait * 2, LAST_LOOK_MS)) {
			const response = await server.ask(signal).catch((error) => {
				if (error instanceof NotProven) throw taken(error);
				server.lookForListener();
				return undefined; // It does not listen there, or not yet.
			});
			status = response?.statusCode ?? status;
			if (response !== undefined && suffices(status ?? 0)) return response;
			await delay(wait, undefined, { signal });
		}
	} finally {
		signal.removeEventListener("abort", aborted);
	}
}

function taken(cause: NotProven): StartError<HttpStartErrorCode> {
	return new StartError<HttpStartErrorCode>({
		code: "LISTENER_NOT_PROVEN",
		message: `No request was sent, because ${cause.message}. Use listen: "unix": no other program can take a socket.`,
		cause,
	});
}
