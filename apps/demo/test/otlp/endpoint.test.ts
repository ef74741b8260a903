import { expect, test } from "vitest";
import { EndpointError, readEndpoint } from "../../src/otlp/endpoint.ts";

test.each([
	["http://127.0.0.1:4318", "http://127.0.0.1:4318"],
	["http://127.0.0.1:4318/", "http://127.0.0.1:4318"],
	["https://example.org/otlp//", "https://example.org/otlp"],
	["http://[::1]:4318", "http://[::1]:4318"],
])("%s is the endpoint %s", (text, endpoint) => {
	expect(readEndpoint(text)).toBe(endpoint);
});

test.each([
	["", "NOT_A_URL"],
	["receiver", "NOT_A_URL"],
	["127.0.0.1:4318", "NOT_A_URL"],
	["localhost:4318", "NOT_HTTP"],
	["grpc://127.0.0.1:4317", "NOT_HTTP"],
	["http://me:secret@example.org", "HAS_CREDENTIALS"],
	["http://example.org?key=1", "HAS_QUERY"],
	["http://example.org/#here", "HAS_QUERY"],
	["http://127.0.0.1:4318/v1/traces", "NAMES_A_SIGNAL"],
	["http://127.0.0.1:4318/otlp/v1/logs/", "NAMES_A_SIGNAL"],
] as const)("%j is none: %s", (text, code) => {
	expect(() => readEndpoint(text)).toThrow(EndpointError);
	expect(() => readEndpoint(text)).toThrow(expect.objectContaining({ code }));
	expect(() => readEndpoint(text)).not.toThrow(/secret/);
});

test("whoever names one signal is told the URL for all", () => {
	expect(() => readEndpoint("http://127.0.0.1:4318/x/v1/traces")).toThrow(
		/: http:\/\/127\.0\.0\.1:4318\/x$/,
	);
});
