import { expect, test } from "vitest";
import { DETAIL_TRANSPORTS } from "../support/bench.ts";
import {
	type Facts,
	factsOfAll,
	next,
	openPreloaded,
} from "../support/preloaded-pool.ts";

test.each(DETAIL_TRANSPORTS)(
	"over %s, when the parent is killed, calls settle and the next workers have another",
	async (transport) => {
		const { pool, events } = await openPreloaded({ transport });
		const [parent] = events.of("preload.started");
		// One that provably did not begin would be made again.
		const begun = next(pool, "worker.output");
		const call = pool.execute("sleeps");
		const failed = expect(call).rejects.toMatchObject({
			code: "WORKER_EXITED",
			ran: "maybe",
		});
		expect(await begun).toMatchObject({ line: "asleep" });
		const ended = next(pool, "preload.ended");
		const again = next(pool, "preload.started");
		process.kill(parent?.pid ?? Number.NaN, "SIGKILL");
		expect(await ended).toMatchObject({
			how: "lost",
			exit: { kind: "signal", signal: "SIGKILL" },
		});
		await failed;
		const second = await again;
		expect(second.restarts).toBe(1);
		for (const facts of await factsOfAll(pool))
			expect(facts.importedIn).toBe(second.pid);
	},
);

test("a parent that is lost again and again is given up", async () => {
	const { pool, events } = await openPreloaded({}, 1);
	for (let loss = 0; loss < 5; loss++) {
		const ready = next(pool, "worker.ready");
		process.kill(
			events.of("preload.started").at(-1)?.pid ?? Number.NaN,
			"SIGKILL",
		);
		await ready;
	}
	expect(events.of("preload.unavailable")).toMatchObject([
		{ code: "PRELOAD_LOST" },
	]);
	const { importedIn, pid } = (await pool.execute("facts")) as Facts;
	expect(importedIn).toBe(pid);
});
