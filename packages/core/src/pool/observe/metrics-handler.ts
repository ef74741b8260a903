import { OptionsError } from "../../contract/errors.ts";
import {
	METRICS_CONTENT_TYPE,
	type MetricReading,
	type MetricsSource,
	metricsText,
	type ReadableMetrics,
} from "./metrics-text.ts";

export { METRICS_CONTENT_TYPE, type MetricsSource } from "./metrics-text.ts";

/** What an answer is written to: a `ServerResponse` of node:http, as Express has it, too. */
interface NodeResponse {
	writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
	end(text: string): unknown;
}

/** A reply of Fastify. */
interface FastifyReply {
	header(name: string, value: string): unknown;
	send(text: string): unknown;
}

/** Answers a request with metrics. */
export interface MetricsHandler {
	/** For node:http, Express and Fastify. */
	(request: unknown, response: NodeResponse | FastifyReply): unknown;
	/** For servers of the web standard, as a `GET` of Next.js. */
	(request: Request): Response;
}

/**
 * Makes a handler that answers every request with the metrics of pools and runs, in Prometheus's text format. It fits
 * node:http, Express, Fastify and servers of the web standard. It asks for no login: serve it where only Prometheus
 * reads it.
 *
 * @param sources pools, runs, or both. A run has the metrics of all pools that were created with it; a pool that is given
 *   besides counts once.
 * @throws OptionsError `INVALID_OPTION` if a source is neither.
 */
export function metricsHandler(...sources: MetricsSource[]): MetricsHandler {
	if (sources.length === 0 || !sources.every(isReadable))
		throw new OptionsError({
			code: "INVALID_OPTION",
			ran: "no",
			message:
				"metricsHandler: give it one or more pools or runs, as in metricsHandler(pool).",
		});
	const answer = (
		_request: unknown,
		response?: NodeResponse | FastifyReply,
	): unknown => {
		const text = metricsText(
			(sources as ReadableMetrics[]).flatMap(
				(source): readonly MetricReading[] => source.readMetrics(),
			),
		);
		const headers = { "content-type": METRICS_CONTENT_TYPE };
		// Next.js has a second argument of its own, which is no response.
		if (response === undefined || isNeither(response))
			return new Response(text, { headers });
		if ("send" in response && "header" in response && "raw" in response) {
			response.header("content-type", METRICS_CONTENT_TYPE);
			return response.send(text);
		}
		const { writeHead } = response as NodeResponse;
		writeHead.call(response, 200, headers);
		return (response as NodeResponse).end(text);
	};
	return answer as MetricsHandler;
}

function isNeither(response: object): boolean {
	return !("writeHead" in response) && !("raw" in response);
}

function isReadable(source: unknown): boolean {
	return (
		typeof source === "object" &&
		source !== null &&
		typeof (source as Partial<ReadableMetrics>).readMetrics === "function"
	);
}
