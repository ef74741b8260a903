/** Why a text does not name an OTLP/HTTP receiver. */
export type EndpointProblem =
	| "NOT_A_URL"
	| "NOT_HTTP"
	| "HAS_CREDENTIALS"
	| "HAS_QUERY"
	| "NAMES_A_SIGNAL";

/** The text given with `--otlp` cannot be used; says what to give instead. */
export class EndpointError extends Error {
	readonly code: EndpointProblem;

	constructor(code: EndpointProblem, message: string) {
		super(message);
		this.name = "EndpointError";
		this.code = code;
	}
}

/**
 * Reads the base URL of an OTLP/HTTP receiver, to which SDKs add `/v1/traces` and
 * its siblings; without a slash at its end.
 *
 * @throws EndpointError.
 */
export function readEndpoint(text: string): string {
	const url = URL.parse(text);
	if (url === null)
		throw new EndpointError(
			"NOT_A_URL",
			`--otlp takes the URL of an OTLP/HTTP receiver, such as http://127.0.0.1:4318, and ${JSON.stringify(text)} is no URL`,
		);
	if (url.protocol !== "http:" && url.protocol !== "https:")
		throw new EndpointError(
			"NOT_HTTP",
			`--otlp sends over http: or https:, not over ${url.protocol}`,
		);
	// The text is not repeated: it holds a secret.
	if (url.username !== "" || url.password !== "")
		throw new EndpointError(
			"HAS_CREDENTIALS",
			"--otlp takes a URL without user and password; what a receiver wants to see of you goes into OTEL_EXPORTER_OTLP_HEADERS",
		);
	if (url.search !== "" || url.hash !== "")
		throw new EndpointError(
			"HAS_QUERY",
			`--otlp takes a URL without ? and #: paths are added to it, and ${JSON.stringify(text)} has no place for them`,
		);
	const base = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
	const signal = /\/v1\/(traces|metrics|logs)$/.exec(base);
	if (signal !== null)
		throw new EndpointError(
			"NAMES_A_SIGNAL",
			`--otlp takes the URL for all signals, to which /v1/traces and its siblings are added: ${base.slice(0, signal.index)}`,
		);
	return base;
}
