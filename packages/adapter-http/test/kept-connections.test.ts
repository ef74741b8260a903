import { join } from "node:path";
import { expect, test } from "vitest";
import { rounds } from "../../../scripts/test-effort.ts";
import { node, pooled } from "./pooled.ts";

const silent = [
	process.execPath,
	join(import.meta.dirname, "programs/closes-silently.mjs"),
	"{socket}",
];

test("a request that must not be sent twice succeeds right after another one, at a server that closes its connections without saying so", async () => {
	const { pool } = await pooled({ command: silent });
	for (let round = 0; round < rounds(200, 20); round++) {
		expect(await pool.execute("GET /")).toBeNull();
		expect(await pool.execute("POST /", { round })).toEqual({ round });
		expect(await pool.execute("POST /", [round])).toEqual([round]);
	}
});

test("requests with a body share a connection at a server that keeps it", async () => {
	const { pool } = await pooled({ command: node("{socket}") });
	// The second one shows that the server keeps the connection of the first one.
	await pool.execute("GET /text");
	await pool.execute("GET /text");
	const before = await pool.execute("GET /connections");
	for (let round = 0; round < 20; round++)
		await pool.execute("POST /echo", round);
	expect(await pool.execute("GET /connections")).toBe(before);
});
