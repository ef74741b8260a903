import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, onTestFinished, test } from "vitest";
import { node, pooled } from "./pooled.ts";

/** Takes connections on a port of its own and counts the bytes that it gets. */
async function stranger(port = 0): Promise<{ port: number; bytes(): number }> {
	let bytes = 0;
	const server: Server = createServer((socket) => {
		socket.on("data", (chunk) => {
			bytes += chunk.length;
		});
		socket.on("error", () => {});
	});
	server.listen(port, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => void server.close());
	const { port: own } = server.address() as AddressInfo;
	return { port: own, bytes: () => bytes };
}

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
	addresses?.some(({ address }) => address === "::1"),
);

describe.runIf(process.platform === "linux")("a worker on a port", () => {
	test("is given a free one, and answers", async () => {
		const { pool } = await pooled({
			command: node("{port}"),
			listen: "tcp",
		});
		expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
		expect(pool.workers()[0]?.facts["listens"]).toMatch(
			/^http:\/\/127\.0\.0\.1:\d+$/,
		);
	});

	test("names the one that it chose itself", async () => {
		const { pool } = await pooled({
			command: node("0"),
			listen: { fromLine: /listening on (?<url>\S+)/ },
		});
		expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
		expect(await pool.use(({ origin }) => origin)).toMatch(/127\.0\.0\.1:\d/);
	});

	test("may listen in a process that left its group, below it", async () => {
		const [program = "", ...args] = node("0");
		const { pool } = await pooled({
			command: ["sh", "-c", 'setsid "$0" "$@" & wait', program, ...args],
			listen: { fromLine: /listening on (?<url>\S+)/ },
		});
		expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
	});

	test.runIf(hasIpv6)(
		"is found where the program listens, although it listens only on ::1",
		async () => {
			const { pool } = await pooled({
				command: node("{port}"),
				env: { LISTEN_HOST: "::1" },
				listen: "tcp",
			});
			expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
			expect(pool.workers()[0]?.facts["listens"]).toMatch(
				/^http:\/\/\[::1\]:\d+$/,
			);
		},
	);

	test("that another program has is not started, and nothing is sent to that program", async () => {
		const { port, bytes } = await stranger();
		const command = ["sh", "-c", `echo on port ${port}; exec sleep 1000`];
		await expect(
			pooled(
				{ command, listen: { fromLine: /on port (?<port>\d+)/ } },
				{ start: { maxRestarts: 0 } },
			),
		).rejects.toMatchObject({
			code: "LISTENER_NOT_PROVEN",
			message: expect.stringContaining(`port ${port} of 127.0.0.1`),
		});
		expect(bytes()).toBe(0);
	});

	test("that another program took later is replaced, and nothing is sent to that program", async () => {
		const { pool, events } = await pooled({
			command: node("0"),
			listen: { fromLine: /listening on (?<url>\S+)/ },
		});
		const port = await pool.use(({ origin }) => Number(new URL(origin).port));
		expect(await pool.execute("POST /closes")).toBe("listens no more");
		const { bytes } = await stranger(port);
		expect(await pool.execute("POST /echo", 2)).toEqual({ echoed: 2 });
		expect(bytes()).toBe(0);
		expect(events.of("worker.ready")).toHaveLength(2);
	});
});
