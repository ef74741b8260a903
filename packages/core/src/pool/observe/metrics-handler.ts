import {
	answerTo,
	type FastifyReplyLike,
	type NodeResponse,
	sendFastify,
	sendNode,
	toResponse,
} from "./answer.ts";
import {
	METRICS_CONTENT_TYPE,
	type MetricsSource,
	metricsText,
	type ReadableMetrics,
} from "./metrics-text.ts";
import { SourceReader, type Sources } from "./sources.ts";

export { METRICS_CONTENT_TYPE, type MetricsSource } from "./metrics-text.ts";
export type { Sources } from "./sources.ts";

/** Answers a request with metrics. */
export interface MetricsHandler {
	/** For node:http, Express and Fastify. */
	(request: unknown, response: NodeResponse | FastifyReplyLike): unknown;
	/** For servers of the web standard, as a `GET` of Next.js. */
	(request: Request): Response;
}

/**
 * Makes a handler that answers with the metrics of pools and runs, in Prometheus's text format, at every path that you give
 * it. It fits node:http, Express, Fastify and servers of the web standard, and answers GET and HEAD. It asks for no login:
 * serve it where only Prometheus reads it.
 *
 * @param sources a pool or a run, the promise of one, a list of these, or a function that returns one of them and is called
 *   for each request. A run has the metrics of all pools that were created with it; a pool that is given besides counts
 *   once. One that is still being created, or could not be created, has none.
 * @throws OptionsError `INVALID_OPTION` if a source is neither.
 */
export function metricsHandler(
	sources: Sources<MetricsSource> | (() => Sources<MetricsSource>),
): MetricsHandler {
	const reader = new SourceReader<MetricsSource>(
		"metricsHandler",
		sources,
		isReadable,
	);
	const read = () => ({
		status: 200,
		contentType: METRICS_CONTENT_TYPE,
		body: metricsText(
			reader
				.read()
				.flatMap((state) =>
					state.kind === "created"
						? (state.source as ReadableMetrics).readMetrics()
						: [],
				),
		),
	});
	const handler = (
		request: unknown,
		response?: NodeResponse | FastifyReplyLike,
	): unknown => {
		const { method } = request as { readonly method?: string };
		const answer = answerTo(method, read);
		// Next.js has a second argument of its own, which is no response.
		if (response === undefined || isNeither(response))
			return toResponse(answer);
		return isFastify(response)
			? sendFastify(response, answer)
			: sendNode(response, answer);
	};
	return handler as MetricsHandler;
}

/** Express's response has `send` and `header`, too. */
function isFastify(
	response: NodeResponse | FastifyReplyLike,
): response is FastifyReplyLike {
	return "send" in response && "code" in response && "raw" in response;
}

function isNeither(response: object): boolean {
	return !("writeHead" in response) && !("raw" in response);
}

/** Pools and runs of this package, whichever copy of it made them. */
function isReadable(source: object): boolean {
	return "readMetrics" in source && typeof source.readMetrics === "function";
}
