import type { IncomingMessage } from "node:http";
import { clearTimeout, setTimeout } from "node:timers";
import { createParser } from "eventsource-parser";
import type { FoundRun } from "./attach.ts";
import type {
	ActOutcome,
	ControlledEvent,
	FailedCall,
	FailedCallFilter,
	PoolAct,
	StacksSnapshot,
	ToolSnapshot,
} from "./controlled-run.ts";
import type { LogFilter, LogLine } from "./log-stream.ts";
import { http } from "./node-http.ts";
import type { ServedState, ServedTick } from "./watchers.ts";

/** Codes of {@link ControlError} that the client creates; the others come from the server and from core. */
export type ControlErrorCode =
	/** No run that fits the options answers. */
	| "NO_SUCH_RUN"
	/** An option of `attach` is misspelt or out of range. */
	| "INVALID_OPTION"
	/** Several runs fit: name one. */
	| "SEVERAL_RUNS"
	/** The program exists but does not answer: it is stopped, or its event loop is blocked. */
	| "HOST_SILENT"
	/** The program ended, or closed its run. */
	| "HOST_GONE"
	/** The server that answered is not one of this package's version. */
	| "INVALID_ANSWER"
	/** The program does not allow it. */
	| "SCOPE_NOT_ALLOWED"
	| "WRONG_TOKEN"
	| "NO_SUCH_POOL"
	| (string & {});

/** A run could not be inspected, or did not carry out a request. */
export class ControlError extends Error {
	override readonly name: string = "ControlError";
	readonly code: ControlErrorCode;
	/** Of a call: whether its work may have begun. */
	readonly ran: "no" | "maybe" | undefined;
	/** If the tool of a call failed: the error that it raised, as its language describes it. */
	readonly remote: unknown;

	constructor(fields: {
		readonly code: ControlErrorCode;
		readonly message: string;
		readonly ran?: "no" | "maybe" | undefined;
		readonly remote?: unknown;
		readonly cause?: unknown;
	}) {
		super(
			fields.message,
			fields.cause === undefined ? undefined : { cause: fields.cause },
		);
		this.code = fields.code;
		this.ran = fields.ran;
		this.remote = fields.remote;
	}
}

/** The longest record, in characters: a server that sends more is not a Snakepit server. */
const RECORD_CHARACTERS = 64 << 20;

interface StreamRecord {
	readonly name: string;
	readonly data: unknown;
}

/** Reads server-sent events whose data is JSON. */
async function* readEventStream(
	source: AsyncIterable<Uint8Array>,
): AsyncGenerator<StreamRecord, void> {
	const records: StreamRecord[] = [];
	const parser = createParser({
		maxBufferSize: RECORD_CHARACTERS,
		onEvent: ({ event = "message", data }) =>
			records.push({ name: event, data: parsed(data) }),
		onError: ({ line = "", message }) => {
			throw notAnEvent(line || message);
		},
	});
	const decoder = new TextDecoder();
	for await (const chunk of source) {
		parser.feed(decoder.decode(chunk, { stream: true }));
		yield* records.splice(0);
	}
}

function parsed(data: string): unknown {
	try {
		return JSON.parse(data);
	} catch {
		throw notAnEvent(data);
	}
}

function notAnEvent(text: string): ControlError {
	return new ControlError({
		code: "INVALID_ANSWER",
		message: `The stream contains something that is not an event: ${text.slice(0, 100)}.`,
	});
}

/** What a stream of events brings. */
export type RunUpdate =
	| { readonly kind: "state"; readonly state: ServedTick }
	| { readonly kind: "event"; readonly event: ControlledEvent }
	/** This client was too slow, so events were left out: `records` says how many. */
	| { readonly kind: "lost"; readonly records: number };

/** What a stream of logs brings. */
export type LogUpdate =
	/** So many lines before the first of those that follow are not kept any more. */
	| { readonly kind: "dropped"; readonly lines: number }
	| { readonly kind: "line"; readonly line: LogLine }
	/** Those before this were printed before the request; every line from now on is sent. */
	| { readonly kind: "following" }
	| { readonly kind: "lost"; readonly records: number };

export interface RunCall {
	readonly pool: string;
	readonly command: string;
	readonly args?: unknown;
	readonly timeoutMs?: number | undefined;
	readonly signal?: AbortSignal | undefined;
}

export interface ControlClientParameters {
	readonly run: FoundRun;
	readonly socketPath: string;
	readonly token: string;
	readonly by: string;
	readonly silentMs: number;
}

/**
 * A living run, seen from another program. Made by `attach`.
 *
 * Everything throws ControlError: `HOST_SILENT` when the program does not answer in time, `HOST_GONE` when it has ended,
 * `SCOPE_NOT_ALLOWED`, and what the server or the pool answers.
 */
export class ControlClient implements Disposable {
	readonly run: FoundRun;
	readonly #parameters: ControlClientParameters;
	/** For requests that only read. Their number has no limit: a stream stays open, and other requests must not wait for its end. */
	readonly #looks = new http.Agent({ keepAlive: true });
	/** For acts and calls: their number at one time is limited, and further ones wait. */
	readonly #acts = new http.Agent({ keepAlive: true, maxSockets: 4 });

	constructor(parameters: ControlClientParameters) {
		this.run = parameters.run;
		this.#parameters = parameters;
	}

	/** What it says of itself. */
	get #self(): { readonly by: string; readonly pid: number } {
		return { by: this.#parameters.by, pid: process.pid };
	}

	/** The run as it is now. */
	async state(): Promise<ServedState> {
		return (await this.#json("GET", "/v1/state")) as ServedState;
	}

	/** Its state twice a second, and what happens in between, until the run ends or the loop is left. */
	async *events(signal?: AbortSignal): AsyncGenerator<RunUpdate, void> {
		for await (const { name, data } of this.#stream(
			"/v1/events",
			signal,
			this.#parameters.silentMs,
		)) {
			if (name === "state") yield { kind: "state", state: data as ServedTick };
			else if (name === "event")
				yield { kind: "event", event: data as ControlledEvent };
			else if (name === "lost") yield lost(data);
		}
	}

	/**
	 * What workers print and log from now on, until the run ends or the loop is left. With `tail` or `sinceMs`, the lines
	 * that were printed before come first; with `follow: false` nothing else does.
	 */
	async *logs(
		filter: Partial<LogFilter> = {},
		signal?: AbortSignal,
	): AsyncGenerator<LogUpdate, void> {
		const query = queryOf(filter);
		// Silence is normal here: workers may print nothing for hours.
		for await (const { name, data } of this.#stream(
			`/v1/logs?${query}`,
			signal,
			undefined,
		)) {
			if (name === "line") yield { kind: "line", line: data as LogLine };
			else if (name === "following") yield { kind: "following" };
			else if (name === "dropped")
				yield { kind: "dropped", lines: (data as { lines: number }).lines };
			else if (name === "lost") yield lost(data);
		}
	}

	/**
	 * Has a worker write the stacks of its threads to its standard error, and go on; returns them. Of a worker whose adapter
	 * names no signal for that, as for most programs that are not Python, they cannot be had: `NOT_OFFERED`.
	 */
	async stacks(pool: string, worker: string): Promise<StacksSnapshot> {
		const path = `/v1/pools/${encodeURIComponent(pool)}/stacks`;
		const { by } = this.#parameters;
		return (await this.#json("POST", path, { worker, by })) as StacksSnapshot;
	}

	/** Which calls failed, as far as the ledger of the run keeps them, oldest first. */
	async failedCalls(
		filter: Partial<FailedCallFilter> = {},
	): Promise<readonly FailedCall[]> {
		const path = `/v1/failed-calls?${queryOf(filter)}`;
		const { failedCalls } = (await this.#json("GET", path)) as {
			failedCalls: readonly FailedCall[];
		};
		return failedCalls;
	}

	/** The commands of a pool's workers; `undefined` when its adapter does not know them. */
	async tools(pool: string): Promise<readonly ToolSnapshot[] | undefined> {
		const path = `/v1/pools/${encodeURIComponent(pool)}/tools`;
		const { tools } = (await this.#json("GET", path)) as {
			tools: readonly ToolSnapshot[] | null;
		};
		return tools ?? undefined;
	}

	/** Acts on a pool; resolves when that is done, with what it did besides. Needs the scope `act`. */
	async act(
		pool: string,
		act: PoolAct,
		parameters: Readonly<Record<string, unknown>> = {},
		signal?: AbortSignal,
	): Promise<ActOutcome> {
		const path = `/v1/pools/${encodeURIComponent(pool)}/${act}`;
		const { cut } = (await this.#json(
			"POST",
			path,
			{ ...parameters, ...this.#self },
			signal,
		)) as ActOutcome;
		return { cut };
	}

	/** Makes a call, and returns its result as JSON can carry it. Needs the scope `call`. */
	async call({ pool, signal, ...call }: RunCall): Promise<unknown> {
		const path = `/v1/pools/${encodeURIComponent(pool)}/call`;
		const { value } = (await this.#json(
			"POST",
			path,
			{ ...call, ...this.#self },
			signal,
		)) as { value: unknown };
		return value;
	}

	/** Ends its connections. */
	[Symbol.dispose](): void {
		this.#looks.destroy();
		this.#acts.destroy();
	}

	/** One request and its answer. A request with a body has no time limit while the program answers `/v1/state`. */
	async #json(
		method: "GET" | "POST",
		path: string,
		body?: unknown,
		signal?: AbortSignal,
	): Promise<unknown> {
		const response = await this.#request(method, path, body, signal);
		const text = await this.#textOf(response);
		let answer: unknown;
		try {
			answer = JSON.parse(text);
		} catch (cause) {
			throw new ControlError({
				code: "INVALID_ANSWER",
				message: `${method} ${path} was answered with ${response.statusCode} and no JSON.`,
				cause,
			});
		}
		if (response.statusCode === 200) return answer;
		const { error } = answer as {
			error: ConstructorParameters<typeof ControlError>[0];
		};
		throw new ControlError(error);
	}

	async *#stream(
		path: string,
		signal: AbortSignal | undefined,
		silentMs: number | undefined,
	) {
		const response = await this.#request("GET", path, undefined, signal);
		if (response.statusCode !== 200) {
			const { error } = JSON.parse(await this.#textOf(response));
			throw new ControlError(error);
		}
		const timer = silence(silentMs, () => response.destroy(this.#silent()));
		try {
			for await (const record of readEventStream(response)) {
				timer.restart();
				yield record;
			}
		} catch (error) {
			if (signal?.aborted === true) return;
			throw error instanceof ControlError ? error : this.#gone(error);
		} finally {
			timer.cancel();
			response.destroy();
		}
	}

	async #request(
		method: string,
		path: string,
		body: unknown,
		signal: AbortSignal | undefined,
	): Promise<IncomingMessage> {
		const { socketPath, token, silentMs } = this.#parameters;
		const { promise, resolve, reject } =
			Promise.withResolvers<IncomingMessage>();
		const text = body === undefined ? "" : JSON.stringify(body);
		const sent = http.request({
			...{ socketPath, method, path },
			agent: method === "GET" ? this.#looks : this.#acts,
			...(signal && { signal }),
			headers: {
				authorization: `Bearer ${token}`,
				"content-length": Buffer.byteLength(text),
			},
		});
		sent.on("response", resolve);
		sent.on("error", reject);
		sent.end(text);
		// An act or a call may take long. Meanwhile, this checks that the program still answers.
		const timer = silence(silentMs, () => {
			if (body === undefined) sent.destroy(this.#silent());
			else
				this.state().then(
					() => timer.restart(),
					(error) => sent.destroy(error),
				);
		});
		try {
			return await promise;
		} catch (error) {
			if (error instanceof ControlError || signal?.aborted === true)
				throw error;
			throw this.#gone(error);
		} finally {
			timer.cancel();
		}
	}

	/** The program may be stopped in the middle of an answer. */
	async #textOf(response: IncomingMessage): Promise<string> {
		const timer = silence(this.#parameters.silentMs, () =>
			response.destroy(this.#silent()),
		);
		const chunks: Buffer[] = [];
		try {
			for await (const chunk of response) {
				timer.restart();
				chunks.push(chunk as Buffer);
			}
		} catch (error) {
			throw error instanceof ControlError ? error : this.#gone(error);
		} finally {
			timer.cancel();
		}
		return Buffer.concat(chunks).toString("utf8");
	}

	#gone(cause: unknown): ControlError {
		const { runId, program, pid } = this.run;
		return new ControlError({
			code: "HOST_GONE",
			message: `${program} (pid ${pid}) has ended, or closed its run ${runId}.`,
			cause,
		});
	}

	#silent(): ControlError {
		const { program, pid } = this.run;
		return new ControlError({
			code: "HOST_SILENT",
			message: `${program} (pid ${pid}) has not answered for ${this.#parameters.silentMs} ms: it is stopped, or its event loop is blocked.`,
		});
	}
}

function queryOf(
	filter: Readonly<Record<string, string | number | boolean | undefined>>,
): URLSearchParams {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(filter))
		if (value !== undefined) query.set(name, String(value));
	return query;
}

function lost(data: unknown): {
	readonly kind: "lost";
	readonly records: number;
} {
	return { kind: "lost", records: (data as { records: number }).records };
}

/** Calls `action` when the timer was not restarted for this long; never if there is no time. */
function silence(
	ms: number | undefined,
	action: () => void,
): { restart(): void; cancel(): void } {
	const timer = ms === undefined ? undefined : setTimeout(action, ms);
	return {
		restart: () => void timer?.refresh(),
		cancel: () => clearTimeout(timer),
	};
}
