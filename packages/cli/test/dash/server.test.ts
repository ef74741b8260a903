import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { serve } from "../../../control/test/fake-run.ts";
import type { DashServer } from "../../src/dash/dash-server.ts";
import { dashboardOfSocket } from "./dashboards.ts";

const WAIT = { timeout: 30_000 };

async function dashboard() {
	const { run, server: control, socketPath } = await serve();
	const page = new Map([
		["/", { type: "text/html", body: Buffer.from("the page") }],
	]);
	const server = await dashboardOfSocket(socketPath, page);
	onTestFinished(() => server.close());
	return { run, server, control };
}

interface Answer {
	readonly status: number | undefined;
	readonly headers: IncomingMessage["headers"];
	readonly body: string;
}

async function sent(
	{ port }: DashServer,
	path: string,
	headers: Record<string, string> = {},
	body?: unknown,
): Promise<IncomingMessage> {
	const host = `127.0.0.1:${port}`;
	const made = request({
		...{ host: "127.0.0.1", port, path, agent: false },
		method: body === undefined ? "GET" : "POST",
		headers: {
			...(body !== undefined && {
				origin: `http://${host}`,
				"content-type": "application/json",
			}),
			host,
			...headers,
		},
	});
	made.end(body === undefined ? undefined : JSON.stringify(body));
	const [response] = (await once(made, "response")) as [IncomingMessage];
	return response;
}

async function asked(...what: Parameters<typeof sent>): Promise<Answer> {
	const response = await sent(...what);
	let body = "";
	for await (const chunk of response.setEncoding("utf8")) body += chunk;
	return { status: response.statusCode, headers: response.headers, body };
}

const tokenOf = ({ url }: DashServer): string => url.split("#token=")[1] ?? "";

/** What the page sends with each request after it has opened the session. */
interface Credentials extends Record<string, string> {
	readonly cookie: string;
	readonly "x-snakepit-key": string;
}

async function opened(server: DashServer): Promise<Credentials> {
	const token = tokenOf(server);
	const answer = await asked(server, "/api/session", {}, { token });
	return {
		cookie: answer.headers["set-cookie"]?.[0]?.split(";")[0] ?? "",
		"x-snakepit-key": JSON.parse(answer.body).key,
	};
}

test("without the session there is the page, and nothing of any run", async () => {
	const { server } = await dashboard();
	const page = await asked(server, "/");
	expect(page).toMatchObject({ status: 200, body: "the page" });
	expect(page.headers["content-security-policy"]).toMatch(
		/^default-src 'self';/,
	);
	const events = "/api/runs/abcdefg/events";
	for (const path of ["/api/runs", "/api/history", events, "/x"])
		expect((await asked(server, path)).status, path).toBe(401);
	const forged = { cookie: `snakepit_${server.port}=${"0".repeat(64)}` };
	expect((await asked(server, "/api/runs", forged)).status).toBe(401);
});

test("the cookie alone, which another server of this machine can get from the browser, opens nothing", async () => {
	const { run, server } = await dashboard();
	const { cookie, "x-snakepit-key": key } = await opened(server);
	const wrong = { cookie, "x-snakepit-key": "0".repeat(key.length) };
	for (const headers of [{ cookie }, wrong, { "x-snakepit-key": key }]) {
		const run = "/api/runs/abcdefg";
		for (const path of ["/api/runs", `${run}/events`, `${run}/logs`])
			expect((await asked(server, path, headers)).status, path).toBe(401);
		for (const act of ["pause", "call", "stacks?worker=demo-0"]) {
			const path = `${run}/pools/demo/${act}`;
			expect((await asked(server, path, headers, {})).status, path).toBe(401);
		}
	}
	expect(run.recorded).toEqual([]);
});

test("a port that is forwarded to another one reaches it", async () => {
	const { server } = await dashboard();
	const host = "localhost:8080";
	const forwarded = { host, origin: `http://${host}` };
	const token = tokenOf(server);
	const answer = await asked(server, "/api/session", forwarded, { token });
	expect(answer.status).toBe(200);
});

test("a body that is too large gets an answer", async () => {
	const { server } = await dashboard();
	const credentials = await opened(server);
	const large = { text: "x".repeat(1 << 20) };
	const path = "/api/runs/abcdefg/pools/demo/call";
	const answer = await asked(server, path, credentials, large);
	expect(answer.status).toBe(413);
	expect(JSON.parse(answer.body).error.code).toBe("BODY_TOO_LARGE");
});

test("a foreign Host header is refused, also with the session", async () => {
	const { server } = await dashboard();
	const credentials = await opened(server);
	const foreign = { ...credentials, host: `evil.example:${server.port}` };
	for (const path of ["/", "/api/runs"])
		expect(await asked(server, path, foreign)).toMatchObject({ status: 403 });
	expect((await asked(server, "/api/runs", credentials)).status).toBe(200);
});

test("the link works once, and again in the browser that it has opened", async () => {
	const { server } = await dashboard();
	const token = tokenOf(server);
	const credentials = await opened(server);
	const again = await asked(server, "/api/session", credentials, { token });
	expect(again.status).toBe(204);
	expect((await asked(server, "/api/session", credentials)).status).toBe(204);
	const second = await asked(server, "/api/session", {}, { token });
	expect(second.status).toBe(401);
	expect(second.headers["set-cookie"]).toBeUndefined();
});

test("what a run answers is passed on, errors with their code", async () => {
	const { run, server } = await dashboard();
	const credentials = await opened(server);
	const at = (path: string, body?: unknown) =>
		asked(server, `/api/runs/abcdefg/pools/${path}`, credentials, body);
	expect(JSON.parse((await at("demo/tools")).body)).toEqual({ tools: null });
	const call = await at("demo/call", { command: "a", args: { b: 1 } });
	expect(JSON.parse(call.body)).toEqual({
		value: { command: "a", args: { b: 1 } },
	});
	expect((await at("demo/pause", {})).status).toBe(200);
	expect(run.recorded.map(({ act, by }) => [act, by])).toEqual([
		["call", "a test"],
		["pause", "a test"],
	]);
	const none = await at("none/pause", {});
	expect(none.status).toBe(422);
	expect(JSON.parse(none.body).error.code).toBe("NO_SUCH_POOL");
	expect((await at("demo/dance", {})).status).toBe(404);
	expect((await at("demo/pause", [])).status).toBe(400);
	expect((await asked(server, "/api/runs/%", credentials)).status).toBe(404);
});

test("a page that is closed leaves no subscription in the program", async () => {
	const { run, server } = await dashboard();
	const credentials = await opened(server);
	const streams = await Promise.all(
		["events", "logs"].map((what) =>
			sent(server, `/api/runs/abcdefg/${what}`, credentials),
		),
	);
	const listeners = () => [run.listeners.events.size, run.listeners.logs.size];
	await vi.waitUntil(() => listeners().every((each) => each === 1), WAIT);
	for (const stream of streams) stream.destroy();
	await vi.waitUntil(() => listeners().every((each) => each === 0), WAIT);
});

test("however many pages follow a run, the program serves one stream, and each page has the state at once", async () => {
	const { run, server } = await dashboard();
	const credentials = await opened(server);
	const events = "/api/runs/abcdefg/events";
	const streams = await Promise.all(
		Array.from({ length: 12 }, () => sent(server, events, credentials)),
	);
	streams.push(await sent(server, events, credentials));
	for (const stream of streams) {
		const [first] = await once(stream.setEncoding("utf8"), "data");
		expect(first).toMatch(/^event: state\n/);
	}
	expect(run.listeners.events.size).toBe(1);
	const texts = streams.map(() => "");
	for (const [index, stream] of streams.entries())
		stream.on("data", (text) => {
			texts[index] += text;
		});
	streams[0]?.destroy();
	run.happened("events", { type: "pool.closed", wallMs: 1, pool: "demo" });
	await vi.waitUntil(
		() => texts.slice(1).every((text) => text.includes("pool.closed")),
		WAIT,
	);
	for (const stream of streams) stream.destroy();
	await vi.waitUntil(() => run.listeners.events.size === 0, WAIT);
});

test("the last lines of a program that ends reach the page before the end does", async () => {
	const { run, server, control } = await dashboard();
	const credentials = await opened(server);
	const logs = await sent(server, "/api/runs/abcdefg/logs", credentials);
	await vi.waitUntil(() => run.listeners.logs.size === 1, WAIT);
	run.happened("logs", {
		...{ type: "worker.output", wallMs: 1, pool: "demo" },
		...{ stream: "stderr", line: "out of memory", cut: false },
	});
	control.close();
	let text = "";
	for await (const chunk of logs.setEncoding("utf8")) text += chunk;
	expect(text).toMatch(/out of memory[\s\S]*event: end/);
});
