import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { Connection } from "../../src/contract/connection.ts";
import { createPool } from "../../src/index.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

test("nothing holds a worker that was recycled, nor its connection", async () => {
	const connections: WeakRef<Connection>[] = [];
	await using pool = await createPool({
		adapter: {
			name: "sleeps",
			launch: () => ({ executable: "sleep", args: ["1000"] }),
			connect: async () => {
				const connection: Connection = {
					execute: async () => undefined,
					[Symbol.asyncDispose]: async () => {},
				};
				connections.push(new WeakRef(connection));
				return connection;
			},
		},
		...{ size: 1, dataDir: temporaryDirectory(), heartbeat: "off" },
		output: { echo: "none" },
	});
	for (let times = 0; times < 5; times++) await pool.recycle("all");

	setFlagsFromString("--expose-gc");
	const collect = runInNewContext("gc") as () => void;
	const held = (): number => {
		collect();
		return connections.filter((each) => each.deref() !== undefined).length;
	};
	const deadline = performance.now() + 30_000;
	// The pool may still know the last worker that left, but not the one before it.
	while (held() > 2 && performance.now() < deadline) await sleep(10);
	expect(connections).toHaveLength(6);
	expect(held()).toBeLessThanOrEqual(2);
});
