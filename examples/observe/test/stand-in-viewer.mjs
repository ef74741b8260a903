#!/usr/bin/env node
// Takes the flags of otel-desktop-viewer, and shows which signals it has received.
import { createServer } from "node:http";
import { parseArgs } from "node:util";

const { values } = parseArgs({
	options: { "browser-port": { type: "string" }, http: { type: "string" } },
	strict: false,
});
const received = new Set();
createServer((_request, response) => {
	response.end(JSON.stringify([...received].sort()));
}).listen(values["browser-port"], "127.0.0.1", () => {
	const otlp = createServer((request, response) => {
		const [, signal] = /^\/v1\/(\w+)$/.exec(request.url) ?? [];
		if (signal !== undefined) received.add(signal);
		request.resume().once("end", () => response.end());
	});
	// Metrics come every 5 s, when Node would close the connection: a request that is on its way then fails.
	otlp.keepAliveTimeout = 0;
	otlp.listen(values.http, "127.0.0.1");
});
