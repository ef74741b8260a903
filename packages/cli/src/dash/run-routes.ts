import type { IncomingMessage, ServerResponse } from "node:http";
import {
	type ControlClient,
	type ControlError,
	POOL_ACTS,
	type RunCall,
} from "@snakepit/control";
import { type Refusal, readObject } from "@snakepit/control/server";
import type { RunHistory } from "@snakepit/core/inspect";
import { answerJson } from "./answer.ts";
import { EventWriter } from "./event-writer.ts";
import { followRun } from "./follow-run.ts";
import { LogBatch } from "./log-batch.ts";
import type { RunSource } from "./run-source.ts";

/** The process's clock. */
export interface DashClock {
	/** Resolves after the given milliseconds, or when the signal aborts. */
	pause(ms: number, signal: AbortSignal): Promise<void>;
}

export interface RunRoutesSetting {
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
	readonly #setting: RunRoutesSetting;
	/** For requests; each stream has its own client, because a client has few connections. */
	readonly #clients = new Map<string, ControlClient>();

	constructor(setting: RunRoutesSetting) {
		this.#setting = setting;
	}

	/** Answers a request, or returns the reason why it is refused. */
	async answer(
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<Refusal | undefined> {
		const url = URL.parse(request.url ?? "", "http://page");
		const path = url?.pathname.split("/").slice(1).map(decoded) ?? [];
		const [api, what, runId, kind, pool, action, ...rest] = path;
		if (url === null || api !== "api" || rest.length > 0) return NOT_FOUND;
		const isRead = request.method === "GET";
		try {
			if (what === "runs" && runId === undefined && isRead)
				answerJson(response, { runs: await this.#setting.runs.list() });
			else if (what === "history" && runId === undefined && isRead)
				answerJson(response, { runs: await this.#setting.history() });
			else if (what !== "runs" || runId === undefined) return NOT_FOUND;
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
		const client = await this.#setting.runs.attach(runId);
		this.#clients.set(runId, client);
		return client;
	}

	async #events(runId: string, response: ServerResponse): Promise<void> {
		using client = await this.#setting.runs.attach(runId);
		const writer = new EventWriter(response);
		const { pause } = this.#setting.clock;
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
		using client = await this.#setting.runs.attach(runId);
		const writer = new EventWriter(response);
		const given = (name: string): string | undefined =>
			query.get(name) || undefined;
		const filter = { worker: given("worker"), call: given("call") };
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
			await this.#setting.clock.pause(LINES_MS, writer.gone);
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
