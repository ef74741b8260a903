import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import {
	type ControlClock,
	type ControlledPool,
	type ControlledRun,
	type ControlScope,
	type FailedCall,
	type FailedCallFilter,
	POOL_ACTS,
	type PoolAct,
} from "./controlled-run.ts";
import { displayError, displayValue } from "./display-value.ts";
import {
	BODY_BYTES,
	IDLE_MS,
	NAME_CHARACTERS,
	REQUEST_MS,
	STREAMS,
} from "./limits.ts";
import { type LogFilter, streamLogs } from "./log-stream.ts";
import { http } from "./node-http.ts";
import { RecordStream } from "./record-stream.ts";
import { isSameSecret, readObject } from "./request-body.ts";
import { Watchers } from "./watchers.ts";

export interface ControlServerParameters {
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
export function serveControl(
	parameters: ControlServerParameters,
): ControlServer {
	return new HttpControlServer(parameters);
}

class HttpControlServer implements ControlServer {
	readonly #parameters: ControlServerParameters;
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

	constructor(parameters: ControlServerParameters) {
		this.#parameters = parameters;
		this.#watchers = new Watchers(parameters.run, parameters.clock);
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
		this.#idle.set(socket, this.#parameters.clock.after(IDLE_MS, end));
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
		const { authorization = "" } = headers;
		if (isSameSecret(authorization, `Bearer ${this.#parameters.token}`))
			return undefined;
		return {
			status: 401,
			code: "WRONG_TOKEN",
			message:
				"The token is missing or wrong. It is in the file control.json next to the socket.",
		};
	}

	#allowed(route: Route | Refusal): Route | Refusal {
		if ("status" in route) return route;
		return scopeRefusal(route.scope, this.#parameters.scopes) ?? route;
	}

	async #carryOut(
		route: Route,
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<void> {
		const { run, clock } = this.#parameters;
		switch (route.kind) {
			case "state":
				answer(response, { status: 200, body: this.#watchers.state() });
				break;
			case "failed-calls": {
				const failedCalls = run
					.failedCalls()
					.filter((call) => isWanted(call, route.filter));
				answer(response, { status: 200, body: { failedCalls } });
				break;
			}
			case "events":
				this.#stream(response, (stream) => this.#watchers.add(stream));
				break;
			case "logs":
				this.#stream(response, (stream) =>
					streamLogs(run, route.filter, stream),
				);
				break;
			default:
				answer(
					response,
					await answerPoolRequest(route, { request, response }, run, clock),
				);
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
		const stream = new RecordStream(response, this.#parameters.clock);
		this.#streams.add(stream);
		const end = follow(stream);
		response.on("close", () => {
			this.#streams.delete(stream);
			end();
		});
	}
}

function refuse(response: ServerResponse, refusal: Refusal): void {
	answer(response, refused(refusal));
}

function answer(response: ServerResponse, given: Answer): void {
	const { text, status } = jsonOf(given);
	response.writeHead(status, {
		"content-type": "application/json",
		"content-length": Buffer.byteLength(text),
		"cache-control": "no-store",
	});
	response.end(text);
}

/** An adapter may describe its tools by values that JSON cannot carry. That must not end the program. */
function jsonOf({ status, body }: Answer): { text: string; status: number } {
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

/** What a request asks for. */
type Route =
	| { readonly kind: "state"; readonly scope: "read" }
	| { readonly kind: "events"; readonly scope: "read" }
	| {
			readonly kind: "failed-calls";
			readonly scope: "read";
			readonly filter: FailedCallFilter;
	  }
	| {
			readonly kind: "logs";
			readonly scope: "logs";
			readonly filter: LogFilter;
	  }
	| { readonly kind: "tools"; readonly scope: "read"; readonly pool: string }
	| { readonly kind: "stacks"; readonly scope: "logs"; readonly pool: string }
	| {
			readonly kind: "act";
			readonly scope: "act";
			readonly pool: string;
			readonly act: PoolAct;
	  }
	| { readonly kind: "call"; readonly scope: "call"; readonly pool: string };

/** The reason why a request is refused. */
export interface Refusal {
	readonly status: 400 | 401 | 403 | 404 | 405 | 408 | 413 | 415 | 422 | 503;
	readonly code: string;
	readonly message: string;
}

/** Finds the route of a request. @param url path and query. */
function routeOf(method: string, url: string): Route | Refusal {
	const parsed = URL.parse(url, "http://run");
	const path = parsed?.pathname.split("/").slice(1).map(decoded) ?? [];
	const [version, topic = "", name, action = "", ...rest] = path;
	if (parsed === null || version !== "v1" || rest.length > 0)
		return notFound(url);
	const isRead = method === "GET";
	const query = (key: string): string | undefined =>
		parsed.searchParams.get(key) ?? undefined;
	if (name === undefined) {
		const topics = ["state", "events", "logs", "failed-calls"] as const;
		const known = topics.find((each) => each === topic);
		if (known === undefined) return notFound(url);
		if (!isRead) return wrongMethod(method, url, "GET");
		if (known === "failed-calls") return failedCallsRoute(query);
		if (known !== "logs") return { kind: known, scope: "read" };
		const filter = {
			worker: query("worker"),
			pool: query("pool"),
			call: query("call"),
			sinceMs: countOf(query("sinceMs")),
			tail: countOf(query("tail")),
			follow: query("follow") !== "false",
		};
		return { kind: "logs", scope: "logs", filter };
	}
	if (topic !== "pools") return notFound(url);
	if (action === "tools")
		return isRead
			? { kind: "tools", scope: "read", pool: name }
			: wrongMethod(method, url, "GET");
	const act = POOL_ACTS.find((each) => each === action);
	if (act === undefined && action !== "call" && action !== "stacks")
		return notFound(url);
	if (method !== "POST") return wrongMethod(method, url, "POST");
	if (action === "stacks") return { kind: "stacks", scope: "logs", pool: name };
	return act === undefined
		? { kind: "call", scope: "call", pool: name }
		: { kind: "act", scope: "act", pool: name, act };
}

/** A number from 0 of a query; anything else counts as left out. */
function countOf(text: string | undefined): number | undefined {
	return text !== undefined && /^\d{1,15}$/.test(text)
		? Number(text)
		: undefined;
}

function failedCallsRoute(query: (key: string) => string | undefined): Route {
	const [pool, command, code] = ["pool", "command", "code"].map(query);
	const sinceMs = countOf(query("sinceMs"));
	const filter = { pool, command, code, sinceMs };
	return { kind: "failed-calls", scope: "read", filter };
}

function isWanted(
	call: FailedCall,
	{ pool, command, code, sinceMs }: FailedCallFilter,
): boolean {
	return (
		(pool === undefined || call.pool === pool) &&
		(command === undefined || call.command === command) &&
		(code === undefined || call.code === code) &&
		(sinceMs === undefined || call.wallMs >= sinceMs)
	);
}

/** Refuses a request whose scope the program does not allow. */
function scopeRefusal(
	needed: ControlScope,
	allowed: readonly ControlScope[],
): Refusal | undefined {
	if (allowed.includes(needed)) return undefined;
	const scopes = [...allowed, needed].map((scope) => `"${scope}"`).join(", ");
	return {
		status: 403,
		code: "SCOPE_NOT_ALLOWED",
		message: `This needs the scope "${needed}", and the program allows ${allowed.length === 0 ? "none" : allowed.map((scope) => `"${scope}"`).join(", ")}. Open its run with control: { scopes: [${scopes}] }.`,
	};
}

function decoded(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

function notFound(url: string): Refusal {
	return {
		status: 404,
		code: "NOT_FOUND",
		message: `There is no ${url.slice(0, 200)}. README.md of @snakepit/control lists all addresses.`,
	};
}

function wrongMethod(method: string, url: string, right: string): Refusal {
	return {
		status: 405,
		code: "METHOD_NOT_ALLOWED",
		message: `${url.slice(0, 200)} takes ${right}, not ${method}.`,
	};
}

interface Answer {
	readonly status: number;
	readonly body: unknown;
}

type PoolRoute = Extract<Route, { readonly pool: string }>;

/** Answers a request about one pool. */
async function answerPoolRequest(
	route: PoolRoute,
	http: {
		readonly request: IncomingMessage;
		readonly response: ServerResponse;
	},
	run: ControlledRun,
	clock: ControlClock,
): Promise<Answer> {
	const pool = run.pool(route.pool);
	if (pool === undefined) return refused(noSuchPool(route.pool, run));
	const late = new AbortController();
	const timer = clock.after(REQUEST_MS, () =>
		late.abort(`it was not complete after ${REQUEST_MS} ms`),
	);
	const body = await readObject(http.request, BODY_BYTES, late.signal);
	timer.cancel();
	if (body.kind === "refused") {
		http.response.shouldKeepAlive = false;
		return refused(body.refusal);
	}
	const gone = new AbortController();
	http.response.on("close", () => gone.abort());
	try {
		return await carryOut(route, pool, body.fields, run, gone.signal);
	} catch (error) {
		const failure = error instanceof Error ? error : new Error(String(error));
		const { code, message, ran, remote } = displayError(failure);
		return { status: 422, body: { error: { code, message, ran, remote } } };
	}
}

async function carryOut(
	route: PoolRoute,
	pool: ControlledPool,
	body: Readonly<Record<string, unknown>>,
	run: ControlledRun,
	signal: AbortSignal,
): Promise<Answer> {
	if (route.kind === "tools") {
		const tools = await pool.tools(signal);
		return { status: 200, body: { tools: tools ?? null } };
	}
	const { by: client, pid, ...rest } = body;
	const by = run.clientName({
		name: shortText(client) ?? "a client that gave no name",
		pid: Number.isSafeInteger(pid) ? (pid as number) : undefined,
	});
	if (route.kind === "act") {
		const target = shortText(rest["worker"]);
		run.record({ pool: route.pool, act: route.act, target, by });
		const outcome = await pool.act(route.act, rest, by);
		return { status: 200, body: { done: route.act, ...outcome } };
	}
	if (route.kind === "stacks") {
		const worker = shortText(rest["worker"]);
		if (worker === undefined)
			return invalid("worker", "the id of a worker", rest["worker"]);
		run.record({ pool: route.pool, act: "stacks", target: worker, by });
		return { status: 200, body: await pool.stacks(worker) };
	}
	const { command, args, timeoutMs } = rest;
	if (typeof command !== "string" || command === "")
		return invalid("command", "a text that is not empty", command);
	if (
		timeoutMs !== undefined &&
		!(typeof timeoutMs === "number" && timeoutMs > 0)
	)
		return invalid("timeoutMs", "a number above 0", timeoutMs);
	run.record({ pool: route.pool, act: "call", target: shortText(command), by });
	const value = await pool.call({ command, args, timeoutMs, signal });
	return { status: 200, body: { value: displayValue(value) } };
}

function refused({ status, ...error }: Refusal): Answer {
	return { status, body: { error } };
}

function invalid(name: string, expected: string, value: unknown): Answer {
	return refused({
		status: 400,
		code: "INVALID_REQUEST",
		message: `"${name}" must be ${expected}, got ${JSON.stringify(value)?.slice(0, NAME_CHARACTERS)}.`,
	});
}

function noSuchPool(name: string, run: ControlledRun): Refusal {
	const names = run.look().pools.map(({ pool }) => `"${pool}"`);
	return {
		status: 404,
		code: "NO_SUCH_POOL",
		message: `There is no pool "${name.slice(0, NAME_CHARACTERS)}" in this run; ${names.length === 0 ? "none is open" : `open pools: ${names.join(", ")}`}.`,
	};
}

function shortText(value: unknown): string | undefined {
	return typeof value === "string" && value !== ""
		? value.slice(0, NAME_CHARACTERS)
		: undefined;
}
