import type { IncomingMessage, ServerResponse } from "node:http";
import type {
	ControlClock,
	ControlledPool,
	ControlledRun,
} from "./controlled-run.ts";
import { BODY_BYTES, NAME_CHARACTERS, REQUEST_MS } from "./limits.ts";
import { readObject } from "./request-body.ts";
import type { Refusal, Route } from "./route.ts";
import { type ShownError, shown, shownError } from "./shown.ts";

interface Answer {
	readonly status: number;
	readonly body: unknown;
}

type PoolRoute = Extract<Route, { readonly pool: string }>;

/** Answers a request about one pool. */
export async function answerPoolRequest(
	route: PoolRoute,
	http: {
		readonly request: IncomingMessage;
		readonly response: ServerResponse;
	},
	run: ControlledRun,
	clock: ControlClock,
): Promise<Answer> {
	const pool = run.pool(route.pool);
	if (pool === undefined) return failed(404, noSuchPool(route.pool, run));
	const late = new AbortController();
	const timer = clock.after(REQUEST_MS, () =>
		late.abort(`it was not complete after ${REQUEST_MS} ms`),
	);
	const body = await readObject(http.request, BODY_BYTES, late.signal);
	timer.cancel();
	if (body.kind === "refused") {
		http.response.shouldKeepAlive = false;
		return failed(body.refusal.status, body.refusal);
	}
	const gone = new AbortController();
	http.response.on("close", () => gone.abort());
	try {
		return await answer(route, pool, body.fields, run, gone.signal);
	} catch (error) {
		const thrown = error instanceof Error ? error : new Error(String(error));
		return failed(422, shownError(thrown));
	}
}

async function answer(
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
	const { by: asked, ...rest } = body;
	const by = shortText(asked) ?? "a client that gave no name";
	if (route.kind === "act") {
		const target = shortText(rest["worker"]);
		run.record({ pool: route.pool, act: route.act, target, by });
		await pool.act(route.act, rest, by);
		return { status: 200, body: { done: route.act } };
	}
	const { command, args, timeoutMs } = rest;
	if (typeof command !== "string" || command === "")
		return failed(400, invalid("command", "a text that is not empty", command));
	if (
		timeoutMs !== undefined &&
		!(typeof timeoutMs === "number" && timeoutMs > 0)
	)
		return failed(400, invalid("timeoutMs", "a number above 0", timeoutMs));
	run.record({ pool: route.pool, act: "call", target: shortText(command), by });
	const value = await pool.call({ command, args, timeoutMs, signal });
	return { status: 200, body: { value: shown(value) } };
}

function failed(
	status: number,
	error: Pick<ShownError, "code" | "message" | "ran" | "remote">,
): Answer {
	const { code, message, ran, remote } = error;
	return { status, body: { error: { code, message, ran, remote } } };
}

function invalid(name: string, wanted: string, got: unknown): Refusal {
	return {
		status: 400,
		code: "INVALID_REQUEST",
		message: `"${name}" must be ${wanted}, got ${JSON.stringify(got)?.slice(0, NAME_CHARACTERS)}.`,
	};
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
