import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { whyNoReceiver } from "../../src/otlp/receiver.ts";
import { listen, nobody } from "./listen.ts";

test("any answer is a receiver", async () => {
	const asked: (string | undefined)[] = [];
	const server = createHttpServer((request, response) => {
		asked.push(request.url);
		response.writeHead(401).end();
	});
	expect(await whyNoReceiver(await listen(server))).toBeUndefined();
	expect(asked).toEqual(["/v1/traces"]);
});

test("where nobody listens, that is the reason", async () => {
	expect(await whyNoReceiver(await nobody(createServer()))).toMatch(
		/ECONNREFUSED 127\.0\.0\.1/,
	);
});

test("who takes the request and never answers is given up", async () => {
	const server = createServer((socket) => {
		onTestFinished(() => void socket.destroy());
	});
	expect(await whyNoReceiver(await listen(server), 50)).toBe(
		"no answer within 50 ms",
	);
});
