import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { finished } from "node:stream";
import {
	type ControlClient,
	type ControlError,
	type ControlScope,
	type LogFilter,
	type LogLine,
	POOL_ACTS,
	type PoolAct,
	type RunCall,
} from "@snakepit/control";
import type { Refusal } from "@snakepit/control/server";
import { answerJson, METHOD_NOT_ALLOWED, readFields } from "./page-answers.ts";
import { type DashClock, type PageUpdate, SharedEvents } from "./run-events.ts";
import { failedCalls, type RunSource } from "./run-source.ts";

export interface RunRoutesDependencies {
	readonly runs: RunSource;
	readonly clock: DashClock;
}

/** What a client may do. The server of the page decides it, from the request. */
export interface Viewer {
	/** Of what the program allows. */
	readonly scopes: readonly ControlScope[];
	/** The function or command that decides on them, for messages. */
	readonly caller: string;
	/** For the program's events; by default, the name of this process. */
	readonly name?: string | undefined;
	/** A stream ends when this aborts, and the page asks again. */
	readonly until?: AbortSignal | undefined;
}

/** The page reads with the first, and changes with the second. */
const METHODS: readonly string[] = ["GET", "POST"];

/** How often lines are sent to the page, in milliseconds. */
const LINES_MS = 100;

/** Answers the page's requests about runs: each answer comes from the run's own control server. */
export class RunRoutes {
	readonly #dependencies: RunRoutesDependencies;
	/** For requests; each stream has its own client, because a client has few connections. */
	readonly #clients = new Map<string, ControlClient>();
	readonly #events: SharedEvents;

	constructor(dependencies: RunRoutesDependencies) {
		this.#dependencies = dependencies;
		const { runs, clock } = dependencies;
		this.#events = new SharedEvents(runs, clock);
	}

	/**
	 * Answers a request, or returns the reason why it is refused.
	 *
	 * @param url the path below the page's own, and the query.
	 */
	async answer(
		url: URL,
		viewer: Viewer,
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<Refusal | undefined> {
		const { method = "" } = request;
		if (!METHODS.includes(method)) {
			response.setHeader("allow", METHODS.join(", "));
			return METHOD_NOT_ALLOWED;
		}
		const route = routeOf(method === "GET", url);
		if (route === undefined) return NOT_FOUND;
		if (!viewer.scopes.includes(route.scope))
			return notAllowed(route.scope, viewer.caller);
		try {
			return await this.#carryOut(route, viewer, request, response);
		} catch (error) {
			if (response.headersSent) {
				response.destroy();
				return undefined;
			}
			const failed = error as Partial<ControlError> & Error;
			const { code = "UNEXPECTED", message, ran, remote } = failed;
			answerJson(response, { error: { code, message, ran, remote } }, 422);
			return undefined;
		}
	}

	async #carryOut(
		route: Route,
		viewer: Viewer,
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<Refusal | undefined> {
		const { runs } = this.#dependencies;
		switch (route.kind) {
			case "runs":
				answerJson(response, { runs: await runs.list() });
				return undefined;
			case "history": {
				const found = await runs.history();
				// They have a view of their own.
				const shown = found.map((run) => ({ ...run, failedCalls: [] }));
				answerJson(response, { runs: shown });
				return undefined;
			}
			case "failed-calls":
				answerJson(response, { calls: await failedCalls(runs) });
				return undefined;
			case "events":
				await this.#followEvents(route.runId, viewer, response);
				return undefined;
			case "logs":
				await this.#logs(route.runId, route.filter, viewer, response);
				return undefined;
			case "tools": {
				const client = await this.#client(route.runId);
				const tools = (await client.tools(route.pool)) ?? null;
				answerJson(response, { tools });
				return undefined;
			}
			case "stacks": {
				const client = await this.#client(route.runId);
				const stacks = await client.stacks(route.pool, route.worker);
				answerJson(response, stacks);
				return undefined;
			}
			default:
				return await this.#change(route, viewer, request, response);
		}
	}

	async #client(runId: string): Promise<ControlClient> {
		const known = this.#clients.get(runId);
		if (known !== undefined) return known;
		const client = await this.#dependencies.runs.attach(runId);
		this.#clients.set(runId, client);
		return client;
	}

	async #followEvents(
		runId: string,
		{ scopes, until }: Viewer,
		response: ServerResponse,
	): Promise<void> {
		const run = await this.#events.of(runId);
		const writer = new EventWriter(response, until);
		for await (const update of run.updates(writer.over)) {
			writer.write(update.kind, shownTo(scopes, update));
			await writer.drained();
		}
		writer.end();
	}

	async #logs(
		runId: string,
		filter: PageLogFilter,
		{ until }: Viewer,
		response: ServerResponse,
	): Promise<void> {
		using client = await this.#dependencies.runs.attach(runId);
		const writer = new EventWriter(response, until);
		const batch = new LogBatch();
		const send = (): void => {
			const record = batch.take();
			if (record !== undefined) writer.write("lines", record);
		};
		const sending = this.#repeat(send, writer);
		try {
			const wanted = { ...filter, tail: BATCH_LINES };
			for await (const update of client.logs(wanted, writer.over))
				switch (update.kind) {
					case "line":
						batch.add(update.line);
						break;
					case "lost":
						batch.lost(update.records);
						break;
					case "dropped":
						writer.write("dropped", { lines: update.lines });
						break;
					case "following":
						send();
						writer.write("following", {});
				}
			send(); // The last lines may say why it ended.
			if (!writer.over.aborted) writer.write("end", {});
		} catch (error) {
			const { code, message } = error as ControlError;
			send();
			if (!writer.over.aborted) writer.write("end", { code, message });
		}
		writer.end();
		await sending;
	}

	async #repeat(send: () => void, writer: EventWriter): Promise<void> {
		while (!writer.over.aborted) {
			await this.#dependencies.clock.pause(LINES_MS, writer.over);
			if (!writer.isBlocked) send();
		}
	}

	/** Acts on a pool, or makes a call. */
	async #change(
		{ runId, pool, ...route }: ChangeRoute,
		{ name }: Viewer,
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<Refusal | undefined> {
		const body = await readFields(request);
		if (body.kind === "refused") return body.refusal;
		const gone = new AbortController();
		response.on("close", () => gone.abort());
		// A client has the name of who asks.
		using own =
			name === undefined
				? undefined
				: await this.#dependencies.runs.attach(runId, name);
		const client = own ?? (await this.#client(runId));
		if (route.kind === "call") {
			const call = {
				...body.fields,
				pool,
				signal: gone.signal,
			} as unknown as RunCall;
			answerJson(response, { value: await client.call(call) });
			return undefined;
		}
		await client.act(pool, route.act, body.fields, gone.signal);
		answerJson(response, { done: route.act });
		return undefined;
	}
}

/** Whose lines a page wants; what is not set stands for all. */
type PageLogFilter = Pick<LogFilter, "worker" | "pool" | "call">;

/** What a request changes. */
type ChangeRoute = { readonly runId: string; readonly pool: string } & (
	| {
			readonly kind: "act";
			readonly scope: "act";
			readonly act: PoolAct;
	  }
	| { readonly kind: "call"; readonly scope: "call" }
);

/** What a request asks for. */
type Route =
	| {
			readonly kind: "runs" | "history" | "failed-calls";
			readonly scope: "read";
	  }
	| {
			readonly kind: "events";
			readonly scope: "read";
			readonly runId: string;
	  }
	| {
			readonly kind: "logs";
			readonly scope: "logs";
			readonly runId: string;
			readonly filter: PageLogFilter;
	  }
	| {
			readonly kind: "tools";
			readonly scope: "read";
			readonly runId: string;
			readonly pool: string;
	  }
	| {
			readonly kind: "stacks";
			/** They are output of the worker. */
			readonly scope: "logs";
			readonly runId: string;
			readonly pool: string;
			readonly worker: string;
	  }
	| ChangeRoute;

/** Finds what a request asks for; `undefined` if there is nothing at its address. */
function routeOf(isRead: boolean, url: URL): Route | undefined {
	const path = url.pathname.split("/").slice(1).map(decoded);
	const [api, topic, runId, kind, pool, action, ...rest] = path;
	if (api !== "api" || rest.length > 0) return undefined;
	if (runId === undefined) {
		const lists = ["runs", "history", "failed-calls"] as const;
		const list = lists.find((each) => each === topic);
		return isRead && list !== undefined
			? { kind: list, scope: "read" }
			: undefined;
	}
	if (topic !== "runs") return undefined;
	if (pool === undefined) {
		if (kind === "events" && isRead) return { kind, scope: "read", runId };
		if (kind !== "logs" || !isRead) return undefined;
		const value = (name: string): string | undefined =>
			url.searchParams.get(name) || undefined;
		const filter = {
			worker: value("worker"),
			pool: value("pool"),
			call: value("call"),
		};
		return { kind, scope: "logs", runId, filter };
	}
	if (kind !== "pools") return undefined;
	if (action === "tools" && isRead)
		return { kind: "tools", scope: "read", runId, pool };
	if (isRead) return undefined;
	const worker = url.searchParams.get("worker");
	if (action === "stacks" && worker !== null)
		return { kind: "stacks", scope: "logs", runId, pool, worker };
	if (action === "call") return { kind: "call", scope: "call", runId, pool };
	const act = POOL_ACTS.find((each) => each === action);
	return act === undefined
		? undefined
		: { kind: "act", scope: "act", runId, pool, act };
}

/** The page offers what the program allows and the viewer may do. */
function shownTo(
	scopes: readonly ControlScope[],
	update: PageUpdate,
): PageUpdate {
	if (update.kind !== "state") return update;
	const { run } = update.state;
	const both = run.scopes.filter((scope) => scopes.includes(scope));
	return {
		...update,
		state: { ...update.state, run: { ...run, scopes: both } },
	};
}

function notAllowed(scope: ControlScope, caller: string): Refusal {
	return {
		status: 403,
		code: "SCOPE_NOT_ALLOWED",
		message: `This dashboard does not allow "${scope}": name it in the option scopes of ${caller}.`,
	};
}

/** Decodes a part of a path; returns it unchanged if that is not possible. */
function decoded(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

export const NOT_FOUND: Refusal = {
	status: 404,
	code: "NOT_FOUND",
	message: "The dashboard has nothing at this address.",
};

/** Writes server-sent events to one page. */
export class EventWriter {
	readonly #response: ServerResponse;
	readonly #until: AbortSignal | undefined;
	/** Aborts when the page is gone, or has to ask again. */
	readonly over: AbortSignal;

	/** @param until aborts when the page has to ask again. */
	constructor(response: ServerResponse, until?: AbortSignal) {
		this.#response = response;
		this.#until = until;
		const gone = new AbortController();
		this.over =
			until === undefined ? gone.signal : AbortSignal.any([gone.signal, until]);
		// The callback also runs if the page has already gone while the run was being attached.
		finished(response, () => gone.abort());
		response.writeHead(200, {
			"content-type": "text/event-stream",
			// A proxy that collects what it passes on would show nothing for minutes.
			"x-accel-buffering": "no",
		});
		response.flushHeaders();
	}

	/** Whether the page still has to read earlier events. */
	get isBlocked(): boolean {
		return this.#response.writableNeedDrain;
	}

	write(name: string, data: unknown): void {
		if (this.over.aborted) return;
		this.#response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
	}

	/** Resolves when the page has read them, or is gone. */
	async drained(): Promise<void> {
		if (!this.isBlocked || this.over.aborted) return;
		await once(this.#response, "drain", { signal: this.over }).catch(() => {});
	}

	end(): void {
		if (this.#until?.aborted && !this.#response.destroyed)
			this.#response.write("event: again\ndata: {}\n\n");
		this.#response.end();
	}
}

/** The most lines that are sent to the page together. */
export const BATCH_LINES = 500;
/** The most characters of one line that the page gets. */
export const LINE_CHARACTERS = 4_000;

/** Lines for the page: the latest, when there are too many. */
export interface LogBatchRecord {
	readonly lines: readonly PageLogLine[];
	/** How many lines before them were left out. */
	readonly leftOut: number;
}

export interface PageLogLine extends LogLine {
	/** How many characters of the text are missing here; unknown for a line that was already cut. */
	readonly missing: number;
}

/** Collects lines until the page takes them. Lines that do not fit are left out and counted. */
export class LogBatch {
	#lines: PageLogLine[] = [];
	#leftOut = 0;

	add(line: LogLine): void {
		const text = line.text.slice(0, LINE_CHARACTERS);
		this.#lines.push({
			...line,
			text,
			missing: line.text.length - text.length,
		});
		// Done rarely: moving all lines for each new one would cost more.
		if (this.#lines.length >= 2 * BATCH_LINES) this.#shorten();
	}

	/** Lines that the program left out, because this client was too slow. */
	lost(lines: number): void {
		this.#leftOut += lines;
	}

	/** Returns the collected lines and starts again; `undefined` if there are none. */
	take(): LogBatchRecord | undefined {
		this.#shorten();
		if (this.#lines.length === 0 && this.#leftOut === 0) return undefined;
		const record = { lines: this.#lines, leftOut: this.#leftOut };
		this.#lines = [];
		this.#leftOut = 0;
		return record;
	}

	#shorten(): void {
		const over = this.#lines.length - BATCH_LINES;
		if (over <= 0) return;
		this.#lines = this.#lines.slice(over);
		this.#leftOut += over;
	}
}
