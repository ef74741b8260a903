import { createServer, request, type Server } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { ExportTally } from "../../src/otlp/export-tally.ts";
import { listen } from "./listen.ts";

/** Answers each path with its status, whatever comes. */
function answering(statuses: Readonly<Record<string, number>>): Server {
	return createServer((incoming, response) => {
		incoming.resume();
		response.writeHead(statuses[incoming.url ?? ""] ?? 200).end("{}");
	});
}

/** Exports nothing to a path, and reads the answer as exporters do. */
async function send(url: string): Promise<void> {
	await new Promise<void>((resolve) => {
		const sending = request(url, { method: "POST" }, (response) => {
			response.resume().once("end", resolve);
		});
		sending.once("error", () => resolve());
		sending.end();
	});
}

function tallyOf(endpoint: string): ExportTally {
	const tally = new ExportTally(endpoint);
	onTestFinished(() => tally[Symbol.dispose]());
	return tally;
}

const SIGNALS = ["traces", "metrics", "logs"];

test("a receiver that takes all is no problem, nor is what goes elsewhere", async () => {
	const url = await listen(answering({ "/elsewhere": 500 }));
	const tally = tallyOf(url);
	for (const name of SIGNALS) await send(`${url}/v1/${name}`);
	await send(`${url}/elsewhere`);
	expect(tally.problem).toBeUndefined();
});

test("of a receiver that takes traces alone it is said that they arrived, and what was not taken", async () => {
	const url = await listen(
		answering({ "/otlp/v1/metrics": 404, "/otlp/v1/logs": 404 }),
	);
	const tally = tallyOf(`${url}/otlp`);
	for (const name of SIGNALS) await send(`${url}/otlp/v1/${name}`);
	expect(tally.problem).toBe(
		"traces arrived, metrics were not taken, logs were not taken: 404 Not Found",
	);
});

test("what is taken at times arrived in part", async () => {
	const statuses: Record<string, number> = {};
	const url = await listen(answering(statuses));
	const tally = tallyOf(url);
	for (const name of SIGNALS) await send(`${url}/v1/${name}`);
	statuses["/v1/traces"] = 413;
	await send(`${url}/v1/traces`);
	expect(tally.problem).toBe(
		"metrics and logs arrived, traces arrived in part: 413 Payload Too Large",
	);
});

test("a receiver that is gone took nothing", async () => {
	const server = answering({});
	const url = await listen(server);
	const tally = tallyOf(url);
	await new Promise((resolve) => server.close(resolve));
	await send(`${url}/v1/traces`);
	expect(tally.problem).toMatch(/^traces were not taken: connect ECONNREFUSED/);
});
