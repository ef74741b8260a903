import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { EndpointError, readEndpoint, whyNoReceiver } from "../src/receiver.ts";
import { closedPort, listen } from "./listen.ts";

test.each([
	["http://127.0.0.1:4318", "http://127.0.0.1:4318"],
	["http://127.0.0.1:4318/", "http://127.0.0.1:4318"],
	["https://example.org/otlp//", "https://example.org/otlp"],
	["http://[::1]:4318", "http://[::1]:4318"],
])("%s is the endpoint %s", (text, endpoint) => {
	expect(readEndpoint(text)).toBe(endpoint);
});

test.each([
	["", /"" is not a URL$/],
	["127.0.0.1:4318", /is not a URL$/],
	["localhost:4318", /not localhost:$/],
	["grpc://127.0.0.1:4317", /not grpc:$/],
	["http://me:secret@example.org", /without user and password/],
	["http://example.org?key=1", /without \? and #/],
	["http://example.org/#here", /without \? and #/],
	["http://127.0.0.1:4318/v1/traces", /: http:\/\/127\.0\.0\.1:4318$/],
	["http://127.0.0.1:4318/x/v1/logs/", /: http:\/\/127\.0\.0\.1:4318\/x$/],
] as const)("%j is refused with what to give instead", (text, why) => {
	expect(() => readEndpoint(text)).toThrow(EndpointError);
	expect(() => readEndpoint(text)).toThrow(why);
	expect(() => readEndpoint(text)).not.toThrow(/secret/);
});

test("a receiver that answers anything is there", async () => {
	const asked: (string | undefined)[] = [];
	const server = createHttpServer((request, response) => {
		asked.push(request.url);
		response.writeHead(401).end();
	});
	expect(await whyNoReceiver(await listen(server))).toBeUndefined();
	expect(asked).toEqual(["/v1/traces"]);
});

test("a closed port and a receiver that never answers are reasons", async () => {
	expect(await whyNoReceiver(await closedPort())).toMatch(
		/ECONNREFUSED 127\.0\.0\.1/,
	);
	const silent = createServer((socket) => {
		onTestFinished(() => void socket.destroy());
	});
	expect(await whyNoReceiver(await listen(silent), 50)).toBe(
		"no answer within 50 ms",
	);
});
