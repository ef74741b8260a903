import { expect, test } from "vitest";
import { http } from "../src/index.ts";
import { begun, node, pooled } from "./pooled.ts";

const command = node("{socket}");

test("the heartbeat asks a path for health, and the worker's facts say where it listens", async () => {
	const { pool } = await pooled({ command, health: "/text", ready: "/text" });
	expect(pool.workers()).toMatchObject([
		{ facts: { listens: expect.stringMatching(/^unix:\/.*\/http$/) } },
	]);
});

test("a program accepts on a socket that listened before it began", async () => {
	const { pool, events } = await pooled({
		command: node(),
		env: { LISTEN_FD: "{fd}" },
		listen: "inherited",
	});
	const pid = pool.workers()[0]?.pid ?? 0;
	expect(await pool.execute("GET /text")).toBe("grüezi");
	const call = pool.execute("POST /sleep").catch((error: unknown) => error);
	await begun(events);
	process.kill(pid, "SIGKILL");
	expect(await call).toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
	expect(await pool.execute("GET /text")).toBe("grüezi");
	expect(pool.workers()[0]?.pid).not.toBe(pid);
});

const deaf = [process.execPath, "-e", "setInterval(() => {}, 1e6)", "{socket}"];

test.each([
	[
		{ command, ready: "/nowhere" },
		/^GET \/nowhere returned 404: the worker is ready when it returns 2xx\.$/,
	],
	[
		{ command: deaf },
		/^Nothing answers at unix:\/.*: the server has to listen there\./,
	],
] as const)(
	"a start that takes too long says how %j answered",
	async (options, says) => {
		const records: string[] = [];
		await expect(
			pooled(options, {
				start: { timeoutMs: 2_000, maxRestarts: 0 },
				onEvent: (event) => {
					if (event.type === "worker.logged")
						records.push(event.record.message);
				},
			}),
		).rejects.toMatchObject({ code: "START_TIMEOUT" });
		expect(records).toEqual([expect.stringMatching(says)]);
	},
);

test("a program gets no secret of the host", async () => {
	process.env["SNAKEPIT_TEST_SECRET"] = "secret";
	const { pool } = await pooled({ command, env: { MINE: "1" } });
	delete process.env["SNAKEPIT_TEST_SECRET"];
	const names = await pool.execute("GET /environment");
	expect(names).toEqual(expect.arrayContaining(["MINE", "PATH"]));
	expect(names).not.toContain("SNAKEPIT_TEST_SECRET");
});

const linux = process.platform === "linux";
test.runIf(linux)("a program is ready when it prints the line", async () => {
	const { pool } = await pooled({
		command: node("{port}"),
		listen: "tcp",
		ready: { fromLine: /^listening on/ },
	});
	expect(await pool.execute("GET /text")).toBe("grüezi");
});

test.each([
	[{}, '"command" must be an array of strings'],
	[{ command: ["x", "{socket}"], redy: "/" }, 'Did you mean "ready"?'],
	[{ command: ["x"], listen: "udp" }, '"listen" must be "unix", "inherited"'],
	[{ command: ["x"], listen: { fromLine: /on (\d+)/ } }, 'a group "url"'],
	[{ command: ["x", "{socket}"], ready: "health" }, "begins with /"],
] as const)("%j is refused", (options, message) => {
	expect(() => http(options as never)).toThrow(message);
});

test.each([
	[{ command: ["x"] }, "put {socket} into"],
	[{ command: ["x", "{port}"] }, '{port} is not available with listen: "unix"'],
	[
		{ command: ["x", "{port}"], listen: { fromLine: /(?<port>\d+)/ } },
		"has no placeholder",
	],
	[{ command: ["x"], env: { PORT: "{port}" }, listen: "inherited" }, "{fd}"],
] as const)("%j is refused for its placeholders", (options, message) => {
	expect(() => http(options)).toThrow(message);
	const { command, ...more } = options;
	const adapter = http({ ...more, command: () => command });
	const slot = { directory: "/nowhere" } as never;
	const signal = new AbortController().signal;
	expect(() => adapter.launch(slot, signal)).toThrow(message);
});
