/** How long a busy receiver may take to answer. */
const ANSWER_WITHIN_MS = 3_000;

/** The URL given with `--otlp` cannot be used; the message says what to give. */
export class EndpointError extends Error {}

/**
 * Reads the base URL of an OTLP/HTTP receiver, to which SDKs add `/v1/traces`,
 * `/v1/metrics` and `/v1/logs`; removes slashes at its end.
 *
 * @throws EndpointError.
 */
export function readEndpoint(text: string): string {
	const url = URL.parse(text);
	if (url === null)
		throw new EndpointError(
			`--otlp takes the URL of an OTLP/HTTP receiver, such as http://127.0.0.1:4318; ${JSON.stringify(text)} is not a URL`,
		);
	if (url.protocol !== "http:" && url.protocol !== "https:")
		throw new EndpointError(
			`--otlp takes an http: or https: URL, not ${url.protocol}`,
		);
	// The message does not repeat the URL: it contains a secret.
	if (url.username !== "" || url.password !== "")
		throw new EndpointError(
			"--otlp takes a URL without user and password; set OTEL_EXPORTER_OTLP_HEADERS to what the receiver requires",
		);
	if (url.search !== "" || url.hash !== "")
		throw new EndpointError(
			`--otlp takes a URL without ? and #, because paths are added to it; given: ${JSON.stringify(text)}`,
		);
	const base = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
	const signal = /\/v1\/(traces|metrics|logs)$/.exec(base);
	if (signal !== null)
		throw new EndpointError(
			`--otlp takes the URL for all signals, to which /v1/traces, /v1/metrics and /v1/logs are added: ${base.slice(0, signal.index)}`,
		);
	return base;
}

/**
 * Checks with an empty export whether a receiver answers; any status is an answer.
 *
 * @returns why it does not, or `undefined`.
 */
export async function whyNoReceiver(
	endpoint: string,
	withinMs: number = ANSWER_WITHIN_MS,
): Promise<string | undefined> {
	try {
		const answer = await fetch(`${endpoint}/v1/traces`, {
			method: "POST",
			headers: { "content-type": "application/x-protobuf" },
			body: new Uint8Array(),
			signal: AbortSignal.timeout(withinMs),
		});
		await answer.body?.cancel();
		return undefined;
	} catch (error) {
		const { name, message, cause } = error as Error;
		if (name === "TimeoutError") return `no answer within ${withinMs} ms`;
		return cause instanceof Error ? cause.message || cause.name : message;
	}
}
