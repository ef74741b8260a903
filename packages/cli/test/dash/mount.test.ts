import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import {
	createServer,
	type IncomingMessage,
	request,
	type Server,
} from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { python } from "@snakepit/adapter-python";
import { OptionsError, openRun, type Pool, type Run } from "@snakepit/core";
import express from "express";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import { PYTHON } from "../../../adapter-python/test/support/pythons.ts";
import {
	type DashboardOptions,
	type MountOptions,
	makeHandler,
	mount,
} from "../../src/dash/mount-dashboard.ts";
import type { PageFiles } from "../../src/dash/page-answers.ts";
import { builtPage } from "./dashboards.ts";
import { hostOfTest } from "./inspected-host.ts";
import {
	DEADLINE_MS,
	hasChromium,
	startChromium,
	WHY_SKIPPED,
} from "./opened-page.ts";

const PAGE: PageFiles = new Map([
	["/", { type: "text/html", body: Buffer.from("the page") }],
	["/app.js", { type: "text/javascript", body: Buffer.from("the script") }],
]);
const parts = { page: () => PAGE, streamMs: 600_000 };

const dataDir = mkdtempSync(join(tmpdir(), "snakepit-test-"));
let run: Run;
let pool: Pool;
const requested: unknown[] = [];

beforeAll(async () => {
	run = await openRun({
		dataDir,
		// The program allows more than the dashboard does.
		control: { scopes: ["read", "logs", "act", "call"] },
	});
	pool = await run.createPool({
		...{ name: "tools", size: 1, output: { echo: "none" } },
		adapter: python({
			...{ tools: join(import.meta.dirname, "tools.py"), python: PYTHON },
		}),
	});
	pool.on("control.requested", ({ act, by }) => requested.push([act, by]));
}, 60_000);

afterAll(async () => {
	await run?.close();
	removeDirectory(dataDir);
});

/** The login of the server in these tests. */
const authorize = ({ headers }: IncomingMessage) =>
	headers.cookie === "login=yes";

async function listening(server: Server): Promise<Server> {
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return server;
}

/** A program's own server, with a dashboard, that answers everything else with "mine". */
async function mounted(options: Partial<MountOptions> = {}) {
	const server = createServer((_, response) => response.end("mine"));
	const dashboard = mount(server, { authorize, ...options }, parts);
	return { server: await listening(server), dashboard };
}

const LOGIN = { cookie: "login=yes" };

/** What the page's own script sends with a change. */
const sameOrigin = (port: number) => ({
	"content-type": "application/json",
	origin: `http://127.0.0.1:${port}`,
});

async function sent(
	server: Server,
	path: string,
	headers: Readonly<Record<string, string>> = LOGIN,
	body?: unknown,
): Promise<IncomingMessage> {
	const { port } = server.address() as AddressInfo;
	const made = request({
		...{ host: "127.0.0.1", port, path, agent: false },
		method: body === undefined ? "GET" : "POST",
		headers: { ...(body !== undefined && sameOrigin(port)), ...headers },
	});
	made.end(body === undefined ? undefined : JSON.stringify(body));
	const [response] = (await once(made, "response")) as [IncomingMessage];
	return response;
}

async function asked(...what: Parameters<typeof sent>) {
	const response = await sent(...what);
	let body = "";
	for await (const chunk of response.setEncoding("utf8")) body += chunk;
	const { statusCode: status, headers } = response;
	return { status, headers, body };
}

const errorOf = (body: string): unknown => JSON.parse(body).error.code;
const api = (path: string): string => `/snakepit/api/${path}`;

/** The first events of a stream. */
async function firstEvent(response: IncomingMessage): Promise<string> {
	let text = "";
	for await (const chunk of response.setEncoding("utf8")) {
		text += chunk;
		if (text.includes("\n\n")) break;
	}
	return text;
}

test.each([
	[undefined, "INVALID_OPTION", /the options must be an object/],
	[{}, "INVALID_OPTION", /"authorize" must be a function .* no default/],
	[{ authorize: true }, "INVALID_OPTION", /"authorize" must be a function/],
	[{ authorize, path: "/a/" }, "INVALID_OPTION", /"path"/],
	[{ authorize, scopes: ["write"] }, "INVALID_OPTION", /"scopes"/],
	[{ authorize, scopes: [] }, "INVALID_OPTION", /"scopes" must have at least/],
	[{ authorize, origin: "https://a/b" }, "INVALID_OPTION", /"origin"/],
	[{ authorize, readOnly: true }, "UNKNOWN_OPTION", /no option "readOnly"/],
	[{ authorise: () => true }, "UNKNOWN_OPTION", /Did you mean "authorize"/],
] as const)(
	"%o mounts nothing, and makes no handler",
	(options, code, message) => {
		const server = createServer();
		const { emit } = server;
		const given = options as unknown as DashboardOptions;
		for (const [make, caller] of [
			[() => mount(server, given, parts), "mountDashboard"],
			[() => makeHandler(given, parts), "dashboardHandler"],
		] as const) {
			const error = thrownBy(make);
			expect(error).toBeInstanceOf(OptionsError);
			expect(error).toMatchObject({ code });
			expect(String(error)).toMatch(message);
			expect(String(error)).toContain(`${caller}: `);
		}
		expect(server.emit).toBe(emit);
	},
);

function thrownBy(run: () => unknown): unknown {
	try {
		return run();
	} catch (error) {
		return error;
	}
}

test("a handler has no path of its own: who gives it one learns where it belongs", () => {
	const options = { authorize, path: "/ops" };
	expect(() => makeHandler(options, parts)).toThrow(
		/dashboardHandler: "path" is an option of mountDashboard\. .*app\.use\("\/snakepit"/,
	);
});

test("a server has one dashboard at a path, until that is closed", async () => {
	const { server, dashboard } = await mounted();
	const { emit } = server;
	for (const path of ["/snakepit", "/snakepit/more"])
		expect(() => mount(server, { authorize, path }, parts)).toThrow(
			new RegExp(
				`"path" is "${path}", but this server has a dashboard at "/snakepit"`,
			),
		);
	expect(server.emit).toBe(emit);
	const other = mount(server, { authorize, path: "/other" }, parts);
	expect((await asked(server, "/other/")).body).toBe("the page");
	other.close();
	dashboard.close();
	mount(server, { authorize }, parts);
	expect((await asked(server, "/snakepit/")).body).toBe("the page");
});

test("what is no server is refused: to an app of Express, no request comes as an event", () => {
	for (const wrong of [undefined, {}, express()])
		expect(() =>
			mount(wrong as unknown as Server, { authorize }, parts),
		).toThrow(
			/must be a server of node:http.*app\.listen\(\).*fastify\.server/,
		);
});

test("a client that the program does not know gets neither the page nor anything of a run", async () => {
	const { server } = await mounted();
	const stranger = { cookie: "login=no" };
	for (const path of [
		"/snakepit",
		"/snakepit/",
		"/snakepit/app.js",
		api("runs"),
	]) {
		const answer = await asked(server, path, stranger);
		expect(answer.status, path).toBe(403);
		expect(errorOf(answer.body)).toBe("NOT_AUTHORIZED");
	}
	const act = await asked(
		server,
		api(`runs/${run.runId}/pools/tools/kill`),
		stranger,
		{},
	);
	expect(act.status).toBe(403);
	const truthy = await mounted({
		authorize: (() => "yes") as unknown as () => boolean,
	});
	expect((await asked(truthy.server, "/snakepit/")).status).toBe(403);
});

test("the rest of the server is as it was, also what is added later, and after the dashboard is closed", async () => {
	const { server, dashboard } = await mounted();
	const paths: (string | undefined)[] = [];
	server.prependListener("request", ({ url }) => paths.push(url));
	expect((await asked(server, "/")).body).toBe("mine");
	expect((await asked(server, "/snakepit-else")).body).toBe("mine");
	expect((await asked(server, "/snakepit/")).body).toBe("the page");
	expect(paths).toEqual(["/", "/snakepit-else"]);
	const moved = await asked(server, "/snakepit");
	expect(moved).toMatchObject({
		status: 302,
		headers: { location: "./snakepit/" },
	});
	dashboard.close();
	expect((await asked(server, "/snakepit/")).body).toBe("mine");
});

test("by default it only shows, whatever the program allows", async () => {
	const { server } = await mounted();
	const { body } = await asked(server, api("runs"));
	const { runs } = JSON.parse(body) as { runs: { runId: string }[] };
	expect(runs.map(({ runId }) => runId)).toEqual([run.runId]);
	const pools = `runs/${run.runId}/pools/tools`;
	for (const act of ["pause", "kill", "call"]) {
		const answer = await asked(server, api(`${pools}/${act}`), LOGIN, {});
		expect([answer.status, errorOf(answer.body)], act).toEqual([
			403,
			"SCOPE_NOT_ALLOWED",
		]);
		expect(answer.body).toContain("the option scopes of mountDashboard.");
	}
	const stream = await sent(server, api(`runs/${run.runId}/events`));
	expect(stream.headers["content-type"]).toBe("text/event-stream");
	const first = await firstEvent(stream);
	const tick = JSON.parse(/^data: (.*)$/m.exec(first)?.[1] ?? "");
	expect(tick.state.run.scopes).toEqual(["read", "logs"]);
	expect(requested).toEqual([]);
});

test("of another program of this user nothing is shown, even if its ledger is the same", async () => {
	const other = await hostOfTest({ dataDir, pool: { size: 1 } });
	const { server } = await mounted();
	for (const list of ["runs", "history"]) {
		const { body } = await asked(server, api(list));
		const { runs } = JSON.parse(body) as { runs: { runId: string }[] };
		const ids = runs.map(({ runId }) => runId);
		expect(ids, list).toContain(run.runId);
		expect(ids, list).not.toContain(other.runId);
	}
	const tools = await asked(
		server,
		api(`runs/${other.runId}/pools/tools/tools`),
	);
	expect([tools.status, errorOf(tools.body)]).toEqual([422, "NO_SUCH_RUN"]);
});

test("the page answers GET and HEAD, its addresses GET and POST, and anything else is 405 with what is allowed", async () => {
	const { server } = await mounted({ scopes: ["read", "act"] });
	const ask = async (method: string, path: string) => {
		const { port } = server.address() as AddressInfo;
		const made = request({
			...{ host: "127.0.0.1", port, path, method, agent: false },
			headers: { ...LOGIN, ...sameOrigin(port) },
		}).end();
		const [response] = (await once(made, "response")) as [IncomingMessage];
		let body = "";
		for await (const chunk of response.setEncoding("utf8")) body += chunk;
		const { statusCode: status, headers } = response;
		return { status, allow: headers.allow, body, headers };
	};
	const got = await ask("GET", "/snakepit/app.js");
	const head = await ask("HEAD", "/snakepit/app.js");
	expect(head).toMatchObject({ status: 200, body: "" });
	expect(head.headers["content-length"]).toBe(String(got.body.length));
	for (const method of ["POST", "PUT", "DELETE"])
		expect(await ask(method, "/snakepit/")).toMatchObject({
			...{ status: 405, allow: "GET, HEAD" },
		});
	const kill = api(`runs/${run.runId}/pools/tools/kill`);
	for (const method of ["HEAD", "PUT", "DELETE"])
		expect(await ask(method, kill)).toMatchObject({
			...{ status: 405, allow: "GET, POST" },
		});
	expect(requested).toEqual([]);
});

test("the page has its policy, sets no cookie, and cannot be used by another site's page", async () => {
	const { server } = await mounted({ scopes: ["read", "act"] });
	const page = await asked(server, "/snakepit/");
	expect(page.headers["content-security-policy"]).toMatch(
		/^default-src 'self';.*frame-ancestors 'none'/,
	);
	expect(page.headers["set-cookie"]).toBeUndefined();
	const pause = api(`runs/${run.runId}/pools/tools/pause`);
	const codes = await Promise.all(
		[
			{ origin: "https://evil.example" },
			{ "sec-fetch-site": "cross-site" },
			{ "sec-fetch-site": "same-site", origin: "https://other.example" },
			{ "content-type": "text/plain" },
		].map(async (headers) =>
			errorOf((await asked(server, pause, { ...LOGIN, ...headers }, {})).body),
		),
	);
	expect(codes).toEqual([
		...["FOREIGN_ORIGIN", "FOREIGN_ORIGIN", "FOREIGN_ORIGIN", "NOT_JSON"],
	]);
	expect(requested).toEqual([]);
});

test("a server that closes does not wait for open dashboards", async () => {
	const { server } = await mounted();
	const stream = await sent(server, api(`runs/${run.runId}/events`));
	// It stays open: a loop that is left would end it.
	await once(stream, "data");
	stream.resume();
	const closed = once(server, "close");
	server.close();
	await closed;
});

test("a page asks for its streams again from time to time, and is asked who it is", async () => {
	const server = createServer();
	mount(server, { authorize }, { ...parts, streamMs: 100 });
	await listening(server);
	const stream = await sent(server, api(`runs/${run.runId}/events`));
	let text = "";
	for await (const chunk of stream.setEncoding("utf8")) text += chunk;
	expect(text).toMatch(/(^|\n\n)event: again\ndata: \{\}\n\n$/);
});

test.skipIf(!hasChromium)(
	`the page works below a path, behind a login, and stays up to date${WHY_SKIPPED}`,
	async () => {
		const [files, browser] = await Promise.all([builtPage(), startChromium()]);
		onTestFinished(() => browser.close());
		const server = createServer((_, response) => response.end("mine"));
		mount(
			server,
			{ authorize, path: "/ops/pools" },
			{ page: () => files, streamMs: 3_000 },
		);
		await listening(server);
		const { port } = server.address() as AddressInfo;
		const url = `http://127.0.0.1:${port}/ops/pools`;
		const context = await browser.newContext();
		const page = await context.newPage();
		const problems: string[] = [];
		page.on("pageerror", ({ message }) => problems.push(message));
		page.on("console", (line) => problems.push(line.text()));
		expect((await page.goto(url))?.status()).toBe(403);
		problems.length = 0;
		let streams = 0;
		page.on("request", (request) => {
			if (request.url().endsWith("/events")) streams++;
		});
		await context.addCookies([{ name: "login", value: "yes", url }]);
		await page.goto(url);
		const row = page.locator("tr[data-worker=tools-0]");
		await row.waitFor();
		expect(await row.getByRole("link", { name: "Stacks" }).count()).toBe(1);
		expect(await row.getByRole("button").count()).toBe(0);
		await expect
			.poll(() => streams, { timeout: DEADLINE_MS })
			.toBeGreaterThan(2);
		const facts = page.locator("header .facts");
		const since = await facts.textContent();
		await expect
			.poll(() => facts.textContent(), { timeout: DEADLINE_MS })
			.not.toBe(since);
		await page.getByRole("link", { name: "Logs" }).click();
		await page.locator(".lines").waitFor();
		expect(await page.locator(".verdict").textContent()).toContain("1 worker");
		// All its addresses are below the path.
		await page.getByRole("link", { name: "History" }).click();
		await page.locator(".runs code", { hasText: run.runId }).waitFor();
		expect(problems).toEqual([]);
	},
	3 * DEADLINE_MS,
);

test("in Express, after its session and its parser of bodies, an act has the name of who asked", async () => {
	const app = express();
	app.use(express.json());
	app.use((request, _, next) => {
		Object.assign(request, { user: request.headers.cookie && "ada" });
		next();
	});
	const userOf = (request: object) => (request as { user?: string }).user;
	app.use(
		"/admin/pools",
		makeHandler(
			{
				authorize: (request) => userOf(request) === "ada",
				nameOf: async (request) => userOf(request),
				scopes: ["read", "act"],
			},
			parts,
		),
	);
	app.use((_, response) => void response.send("mine"));
	const server = await listening(createServer(app));
	const moved = await asked(server, "/admin/pools");
	expect(moved.headers.location).toBe("./pools/");
	expect((await asked(server, "/admin/pools/")).body).toBe("the page");
	expect((await asked(server, "/admin/pools/", {})).status).toBe(403);
	expect((await asked(server, "/admin")).body).toBe("mine");
	const path = `/admin/pools/api/runs/${run.runId}/pools/tools/resize`;
	const answer = await asked(server, path, LOGIN, { max: 2 });
	expect(answer).toMatchObject({ status: 200 });
	expect(String(requested.at(-1))).toMatch(/^resize,ada\b/);
	const none = await asked(server, path.replace("resize", "call"), LOGIN, {});
	expect(none.status).toBe(403);
	expect(JSON.parse(none.body).error.message).toBe(
		'This dashboard does not allow "call": name it in the option scopes of dashboardHandler.',
	);
});

test("what authorize throws is an error of the framework, and nobody sees anything", async () => {
	const app = express();
	const broken = () => {
		throw new Error("the session store is away");
	};
	app.use("/d", makeHandler({ authorize: broken }, parts));
	app.use(((error, _, response, __) => {
		response.status(500).send(`framework: ${error.message}`);
	}) satisfies express.ErrorRequestHandler);
	const server = await listening(createServer(app));
	expect(await asked(server, "/d/")).toMatchObject({
		...{ status: 500, body: "framework: the session store is away" },
	});
});

test("what was recorded is shown too: earlier runs of this program, and calls that failed", async () => {
	const { server } = await mounted();
	await expect(pool.execute("parse", { text: "twelve" })).rejects.toThrow();
	// At once: the ledger has it a moment later, and the program says it itself.
	const { calls } = JSON.parse((await asked(server, api("failed-calls"))).body);
	expect(calls[0]).toMatchObject({ runId: run.runId, command: "parse" });
	const history = JSON.parse((await asked(server, api("history"))).body);
	expect(history.runs[0].runId).toBe(run.runId);
});
