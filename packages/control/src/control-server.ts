import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ControlClock, ControlledRun } from "./controlled-run.ts";
import { IDLE_MS, STREAMS } from "./limits.ts";
import { followLogs } from "./logs.ts";
import { http } from "./node-http.ts";
import { answerPoolRequest } from "./pool-requests.ts";
import { RecordStream } from "./record-stream.ts";
import { type Refusal, type Route, routeOf, scopeRefusal } from "./route.ts";
import { isSameSecret } from "./same-secret.ts";
import type { ControlScope } from "./scopes.ts";
import { Watchers } from "./watchers.ts";

export interface ControlServerSetting {
	readonly run: ControlledRun;
	readonly clock: ControlClock;
	/** What a client must send as `Authorization: Bearer TOKEN`. */
	readonly token: string;
	readonly scopes: readonly ControlScope[];
}

export interface ControlServer {
	/** Serves a connection that was accepted. The connection does not keep the program running. */
	accept(socket: Socket): void;
	/** The run is over: each stream ends after its pending records, and each connection after its current answer. */
	close(): void;
}

/** Serves a run over HTTP on connections that its caller accepts: it does not listen itself. */
export function serveControl(setting: ControlServerSetting): ControlServer {
	return new HttpControlServer(setting);
}

class HttpControlServer implements ControlServer {
	readonly #setting: ControlServerSetting;
	readonly #watchers: Watchers;
	readonly #streams = new Set<RecordStream>();
	/** Connections, and what ends those on which no request is under way. */
	readonly #idle = new Map<Socket, { cancel(): void }>();
	/** Connections with requests under way, and their number: a client may send the next one before it has an answer. */
	readonly #underWay = new Map<Socket, number>();
	#phase: "open" | "closed" = "open";
	readonly #http = http.createServer((request, response) => {
		void this.#answer(request, response);
	});

	constructor(setting: ControlServerSetting) {
		this.#setting = setting;
		this.#watchers = new Watchers(setting.run, setting.clock);
		// A connection that does not speak HTTP is ignored.
		this.#http.on("clientError", (_, socket) => socket.destroy());
	}

	accept(socket: Socket): void {
		if (this.#phase === "closed") {
			socket.destroy();
			return;
		}
		socket.unref();
		socket.on("error", () => {}); // The client is gone.
		socket.on("close", () => this.#busy(socket));
		this.#wait(socket);
		this.#http.emit("connection", socket);
	}

	close(): void {
		this.#phase = "closed";
		for (const stream of this.#streams) stream.end();
		for (const socket of [...this.#idle.keys()]) socket.destroy();
	}

	/** The next request must arrive within the time limit. */
	#wait(socket: Socket): void {
		const end = (): void => void socket.destroy();
		this.#idle.set(socket, this.#setting.clock.after(IDLE_MS, end));
	}

	#busy(socket: Socket): void {
		this.#idle.get(socket)?.cancel();
		this.#idle.delete(socket);
	}

	#begin(socket: Socket): void {
		this.#busy(socket);
		this.#underWay.set(socket, (this.#underWay.get(socket) ?? 0) + 1);
	}

	#end(socket: Socket): void {
		const left = (this.#underWay.get(socket) ?? 1) - 1;
		if (left > 0) {
			this.#underWay.set(socket, left);
			return;
		}
		this.#underWay.delete(socket);
		if (this.#phase === "closed") socket.end();
		else if (!socket.destroyed) this.#wait(socket);
	}

	async #answer(
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<void> {
		const { socket } = request;
		this.#begin(socket);
		response.on("close", () => this.#end(socket));
		const { method = "", url = "" } = request;
		const route =
			this.#unauthorized(request) ?? this.#allowed(routeOf(method, url));
		if ("status" in route) refuse(response, route);
		else await this.#carryOut(route, request, response);
	}

	#unauthorized({ headers }: IncomingMessage): Refusal | undefined {
		const given = headers.authorization ?? "";
		if (isSameSecret(given, `Bearer ${this.#setting.token}`)) return undefined;
		return {
			status: 401,
			code: "WRONG_TOKEN",
			message:
				"The token is missing or wrong. It is in the file control.json beside the socket.",
		};
	}

	#allowed(route: Route | Refusal): Route | Refusal {
		if ("status" in route) return route;
		return scopeRefusal(route.scope, this.#setting.scopes) ?? route;
	}

	async #carryOut(
		route: Route,
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<void> {
		const { run, clock } = this.#setting;
		switch (route.kind) {
			case "state":
				answer(response, 200, this.#watchers.state());
				break;
			case "events":
				this.#stream(response, (stream) => this.#watchers.add(stream));
				break;
			case "logs":
				this.#stream(response, (stream) => {
					const end = followLogs(run, route.filter, stream);
					stream.push("following", {});
					return end;
				});
				break;
			default: {
				const { status, body } = await answerPoolRequest(
					route,
					{ request, response },
					run,
					clock,
				);
				answer(response, status, body);
			}
		}
	}

	#stream(
		response: ServerResponse,
		follow: (stream: RecordStream) => () => void,
	): void {
		if (this.#streams.size >= STREAMS) {
			refuse(response, {
				status: 503,
				code: "TOO_MANY_STREAMS",
				message: `${STREAMS} clients already follow this run. Close one of them.`,
			});
			return;
		}
		const stream = new RecordStream(response, this.#setting.clock);
		this.#streams.add(stream);
		const end = follow(stream);
		response.on("close", () => {
			this.#streams.delete(stream);
			end();
		});
	}
}

function refuse(response: ServerResponse, refusal: Refusal): void {
	const { status, ...error } = refusal;
	answer(response, status, { error });
}

function answer(response: ServerResponse, asked: number, body: unknown): void {
	const { text, status } = jsonOf(body, asked);
	response.writeHead(status, {
		"content-type": "application/json",
		"content-length": Buffer.byteLength(text),
		"cache-control": "no-store",
	});
	response.end(text);
}

/** An adapter may describe its tools by values that JSON cannot carry. That must not end the program. */
function jsonOf(
	body: unknown,
	status: number,
): { text: string; status: number } {
	try {
		return { text: JSON.stringify(body), status };
	} catch (cause) {
		const error = {
			code: "ANSWER_NOT_JSON",
			message: `The program's answer cannot be JSON: ${messageOf(cause)}`,
		};
		return { text: JSON.stringify({ error }), status: 500 };
	}
}

function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
