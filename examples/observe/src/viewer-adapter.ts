import { setTimeout as pause } from "node:timers/promises";
import { ToolError } from "@snakepit/core";
import {
	type Adapter,
	type CallOptions,
	ConnectionBrokenError,
} from "@snakepit/core/adapter";

/** Where the viewer listens, on 127.0.0.1. */
export interface ViewerPorts {
	/** Takes OTLP over HTTP. */
	readonly http: number;
	/** Takes OTLP over gRPC, which the demo does not use; it cannot be turned off. */
	readonly grpc: number;
	/** Serves the page, and JSON-RPC at `/rpc`. */
	readonly page: number;
}

/** The methods of the viewer's JSON-RPC that are used here; times are nanoseconds since 1970 as decimal digits. */
export type ViewerTools = {
	getStats(args: readonly []): ViewerStatistics;
	searchTraces(range: readonly [from: string, to: string]): readonly {
		readonly traceID: string;
		readonly rootSpan: { readonly name: string } | null;
		readonly errorCount: number;
	}[];
	searchSpans(args: readonly [traceId: string]): {
		readonly spans: readonly { readonly spanData: ViewedSpan }[];
	};
	searchMetricSummaries(range: readonly [from: string, to: string]): readonly {
		readonly name: string;
		readonly unit: string;
		readonly serviceName: string;
		readonly dataPointCount: number;
	}[];
	searchLogs(range: readonly [from: string, to: string]): readonly {
		readonly id: string;
		readonly severityText: string;
	}[];
	getLog(args: readonly [id: string]): { readonly eventName: string };
};

export interface ViewerStatistics {
	readonly traces: { readonly traceCount: number };
	readonly metrics: { readonly metricCount: number };
	readonly logs: { readonly logCount: number };
}

export interface ViewedSpan {
	readonly spanID: string;
	readonly parentSpanID: string | null;
	readonly name: string;
	readonly statusCode: string;
	readonly resource: {
		readonly attributes: readonly {
			readonly key: string;
			readonly value: string;
		}[];
	};
}

/** The viewer does not report when it listens. */
const LOOK_EVERY_MS = 50;
/** Another program that has taken the port may never answer. */
const LOOK_WITHIN_MS = 1_000;

/**
 * The viewer as a worker: a program that knows nothing of Snakepit. Its commands
 * are the methods of its JSON-RPC.
 *
 * @param stop - Aborts a start.
 */
export function viewerAdapter(
	executable: string,
	{ http, grpc, page }: ViewerPorts,
	stop: AbortSignal,
): Adapter {
	const host = "127.0.0.1";
	return {
		name: "otel-viewer",
		launch: ({ directory }) => ({
			executable,
			args: [
				...["--host", host, "--http", `${http}`, "--grpc", `${grpc}`],
				...["--browser-port", `${page}`, "--open-browser=false"],
			],
			// If its database runs out of memory it writes into its working directory.
			cwd: directory,
		}),
		async connect(_process, starting) {
			const signal = AbortSignal.any([starting, stop]);
			const execute = (
				method: string,
				params: unknown,
				options: Pick<CallOptions, "signal">,
			) => call(`http://${host}:${page}/rpc`, method, params, options.signal);
			// It listens for OTLP last.
			while (!(await answers(`http://${host}:${http}/`, signal)))
				await pause(LOOK_EVERY_MS, undefined, { signal });
			await execute("getStats", [], { signal });
			return { execute, async [Symbol.asyncDispose]() {} };
		},
	};
}

async function answers(url: string, signal: AbortSignal): Promise<boolean> {
	try {
		const limit = AbortSignal.timeout(LOOK_WITHIN_MS);
		const response = await fetch(url, {
			signal: AbortSignal.any([signal, limit]),
		});
		await response.body?.cancel();
		return true;
	} catch {
		return false;
	}
}

interface Answer {
	readonly result?: unknown;
	readonly error?: { readonly code: number; readonly message: string };
}

async function call(
	url: string,
	method: string,
	params: unknown,
	signal: AbortSignal,
): Promise<unknown> {
	let answer: Answer;
	try {
		const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
		const headers = { "content-type": "application/json" };
		const response = await fetch(url, {
			method: "POST",
			headers,
			body,
			signal,
		});
		answer = (await response.json()) as Answer;
	} catch (cause) {
		throw new ConnectionBrokenError({
			ran: "maybe",
			message: `The viewer did not answer ${method} with JSON: ${(cause as Error).message}`,
			cause,
		});
	}
	if (answer.error === undefined) return answer.result;
	const { code, message } = answer.error;
	throw new ToolError({
		ran: "maybe",
		message: `The viewer answers ${method} with error ${code}: ${message}`,
		remote: { type: `JSON-RPC error ${code}`, message },
	});
}
