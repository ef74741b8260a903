import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { finished } from "node:stream";
import {
	type ControlClient,
	ControlError,
	type LogLine,
	POOL_ACTS,
	type RunCall,
	type RunUpdate,
} from "@snakepit/control";
import { type Refusal, readObject } from "@snakepit/control/server";
import type { RunHistory } from "@snakepit/core/inspect";
import type { RunSource } from "./dash.ts";
import { answerJson } from "./dash-server.ts";

/** The process's clock. */
export interface DashClock {
	/** Resolves after the given milliseconds, or when the signal aborts. */
	pause(ms: number, signal: AbortSignal): Promise<void>;
}

export interface RunRoutesDependencies {
	readonly runs: RunSource;
	/** Runs of the ledger, newest first, living and dead. */
	readonly history: () => Promise<readonly RunHistory[]>;
	readonly clock: DashClock;
}

/** The largest body of a request: the limit of a run's own server. */
export const BODY_BYTES: number = 1 << 20;

/** How often lines are sent to the page, in milliseconds. */
const LINES_MS = 100;

/** Answers the page's requests about runs: each answer comes from the run's own control server. */
export class RunRoutes {
	readonly #dependencies: RunRoutesDependencies;
	/** For requests; each stream has its own client, because a client has few connections. */
	readonly #clients = new Map<string, ControlClient>();

	constructor(dependencies: RunRoutesDependencies) {
		this.#dependencies = dependencies;
	}

	/** Answers a request, or returns the reason why it is refused. */
	async answer(
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<Refusal | undefined> {
		const url = URL.parse(request.url ?? "", "http://page");
		const path = url?.pathname.split("/").slice(1).map(decoded) ?? [];
		const [api, topic, runId, kind, pool, action, ...rest] = path;
		if (url === null || api !== "api" || rest.length > 0) return NOT_FOUND;
		const isRead = request.method === "GET";
		try {
			if (topic === "runs" && runId === undefined && isRead)
				answerJson(response, { runs: await this.#dependencies.runs.list() });
			else if (topic === "history" && runId === undefined && isRead)
				answerJson(response, { runs: await this.#dependencies.history() });
			else if (topic !== "runs" || runId === undefined) return NOT_FOUND;
			else if (kind === "events" && isRead) await this.#events(runId, response);
			else if (kind === "logs" && isRead)
				await this.#logs(runId, url.searchParams, response);
			else if (kind === "pools" && pool !== undefined && action === "tools")
				answerJson(response, {
					tools: (await (await this.#client(runId)).tools(pool)) ?? null,
				});
			else if (kind === "pools" && pool !== undefined && !isRead)
				return await this.#act(runId, pool, action ?? "", request, response);
			else return NOT_FOUND;
			return undefined;
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

	async #client(runId: string): Promise<ControlClient> {
		const known = this.#clients.get(runId);
		if (known !== undefined) return known;
		const client = await this.#dependencies.runs.attach(runId);
		this.#clients.set(runId, client);
		return client;
	}

	async #events(runId: string, response: ServerResponse): Promise<void> {
		using client = await this.#dependencies.runs.attach(runId);
		const writer = new EventWriter(response);
		const { pause } = this.#dependencies.clock;
		for await (const update of followRun(client, writer.gone, pause)) {
			writer.write(update.kind, update);
			// A slow page slows this process, which then loses events. It never slows the program.
			await writer.drained();
		}
		writer.end();
	}

	async #logs(
		runId: string,
		query: URLSearchParams,
		response: ServerResponse,
	): Promise<void> {
		using client = await this.#dependencies.runs.attach(runId);
		const writer = new EventWriter(response);
		const value = (name: string): string | undefined =>
			query.get(name) || undefined;
		const filter = { worker: value("worker"), call: value("call") };
		const batch = new LogBatch();
		const send = (): void => {
			const record = batch.take();
			if (record !== undefined) writer.write("lines", record);
		};
		const sending = this.#repeat(send, writer);
		try {
			for await (const update of client.logs(filter, writer.gone))
				if (update.kind === "line") batch.add(update.line);
				else if (update.kind === "lost") batch.lost(update.records);
				else writer.write("following", {});
			send(); // The last lines may say why it ended.
			writer.write("end", {});
		} catch (error) {
			const { code, message } = error as ControlError;
			send();
			writer.write("end", { code, message });
		}
		writer.end();
		await sending;
	}

	async #repeat(send: () => void, writer: EventWriter): Promise<void> {
		while (!writer.gone.aborted) {
			await this.#dependencies.clock.pause(LINES_MS, writer.gone);
			if (!writer.isBlocked) send();
		}
	}

	async #act(
		runId: string,
		pool: string,
		action: string,
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<Refusal | undefined> {
		const body = await readObject(request, BODY_BYTES);
		if (body.kind === "refused") return body.refusal;
		const gone = new AbortController();
		response.on("close", () => gone.abort());
		const client = await this.#client(runId);
		if (action === "call") {
			const call = {
				...body.fields,
				pool,
				signal: gone.signal,
			} as unknown as RunCall;
			answerJson(response, { value: await client.call(call) });
			return undefined;
		}
		const act = POOL_ACTS.find((each) => each === action);
		if (act === undefined) return NOT_FOUND;
		await client.act(pool, act, body.fields, gone.signal);
		answerJson(response, { done: act });
		return undefined;
	}
}

/** Decodes a part of a path; returns it unchanged if that is not possible. */
function decoded(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

const NOT_FOUND: Refusal = {
	status: 404,
	code: "NOT_FOUND",
	message: "The dashboard has nothing at this address.",
};

/** Writes server-sent events to one page. */
export class EventWriter {
	readonly #response: ServerResponse;
	/** Aborts when the page is gone. */
	readonly gone: AbortSignal;

	constructor(response: ServerResponse) {
		this.#response = response;
		const gone = new AbortController();
		this.gone = gone.signal;
		// The callback also runs if the page has already gone while the run was being attached.
		finished(response, () => gone.abort());
		response.writeHead(200, {
			"content-type": "text/event-stream",
			"cache-control": "no-store",
		});
		response.flushHeaders();
	}

	/** Whether the page still has to read earlier events. */
	get isBlocked(): boolean {
		return this.#response.writableNeedDrain;
	}

	write(name: string, data: unknown): void {
		if (this.gone.aborted) return;
		this.#response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
	}

	/** Resolves when the page has read them, or is gone. */
	async drained(): Promise<void> {
		if (!this.isBlocked || this.gone.aborted) return;
		await once(this.#response, "drain", { signal: this.gone }).catch(() => {});
	}

	end(): void {
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

/** The updates that the page gets of a run. */
export type PageUpdate =
	| RunUpdate
	/** The program does not answer; it may answer again later. */
	| { readonly kind: "silent"; readonly message: string }
	/** The last update: the run is over, or cannot be followed. */
	| {
			readonly kind: "gone";
			readonly how: "closed" | "killed" | "refused";
			readonly message: string;
	  };

/** How long after a silence the program is tried again, in milliseconds. */
const AGAIN_MS: readonly number[] = [500, 1_000, 2_000, 5_000, 10_000];

/**
 * Follows a run to its end, even if its program is silent for a while.
 *
 * @param pause resolves after the given milliseconds, or when the signal aborts.
 */
export async function* followRun(
	client: Pick<ControlClient, "events" | "run">,
	signal: AbortSignal,
	pause: (ms: number, signal: AbortSignal) => Promise<void>,
): AsyncGenerator<PageUpdate, void> {
	const { program, pid, runId } = client.run;
	let silences = 0;
	while (!signal.aborted) {
		try {
			for await (const update of client.events(signal)) {
				silences = 0;
				yield update;
			}
			if (signal.aborted) return;
			const message = `${program} (pid ${pid}) closed its run ${runId}.`;
			yield { kind: "gone", how: "closed", message };
			return;
		} catch (error) {
			if (signal.aborted) return;
			if (!(error instanceof ControlError)) throw error;
			const { code, message } = error;
			if (code !== "HOST_SILENT") {
				const isGone = code === "HOST_GONE" || code === "NO_SUCH_RUN";
				yield isGone
					? {
							...{ kind: "gone", how: "killed" },
							message: `${program} (pid ${pid}) is gone. It did not close its run: it was killed, or it crashed.`,
						}
					: { kind: "gone", how: "refused", message };
				return;
			}
			yield { kind: "silent", message };
			await pause(
				AGAIN_MS[Math.min(silences, AGAIN_MS.length - 1)] ?? 0,
				signal,
			);
			silences++;
		}
	}
}
