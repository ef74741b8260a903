import { readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	type Facts,
	factsOfAll,
	openPreloaded,
	toolsOf,
} from "../support/preloaded-pool.ts";

test("when the parent is killed, calls settle and the next workers have another", async () => {
	const { pool, events } = await openPreloaded();
	const [parent] = events.of("preload.started");
	// One that provably did not begin would be made again.
	const begun = events.next("worker.output");
	const call = pool.execute("sleeps");
	const failed = expect(call).rejects.toMatchObject({
		code: "WORKER_EXITED",
		ran: "maybe",
	});
	expect(await begun).toMatchObject({ line: "asleep" });
	const ended = events.next("preload.ended");
	const again = events.next("preload.started");
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
});

test("a parent that is lost again and again is given up", async () => {
	const { pool, events } = await openPreloaded({}, 1);
	for (let loss = 0; loss < 5; loss++) {
		const ready = events.next("worker.ready");
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

const LARGE = `
import os
from snakepit_bridge import tool
@tool
def echo(value: bytes) -> bytes:
    return value
@tool
def parent() -> int:
    return os.getppid()
`;

/** Of one run, where this program makes them. */
function removeDirectories(runId: string): void {
	for (const base of [tmpdir(), "/dev/shm"])
		for (const name of readdirSync(base))
			if (name.startsWith(`snakepit-${runId}-`))
				rmSync(join(base, name), { recursive: true });
}

test("when the directories of the run are removed, the workers that live go on, also with large values, and the next ones have another parent", async () => {
	const { pool, events } = await openPreloaded({ tools: toolsOf(LARGE) }, 1);
	const value = Buffer.alloc(5_000_000, 7);
	const echoed = async (): Promise<boolean> =>
		value.equals((await pool.execute("echo", { value })) as Uint8Array);
	expect(await echoed()).toBe(true);
	const [worker] = events.of("worker.ready");
	removeDirectories(worker?.incarnation.slice(0, 7) ?? "");
	// In messages, until it has a directory again.
	expect(await echoed()).toBe(true);
	process.kill(worker?.pid ?? 0, "SIGKILL");
	await events.waitFor("worker.ready", ({ pid }) => pid !== worker?.pid);
	expect(await echoed()).toBe(true);
	const [first, second] = events.of("preload.started");
	expect(await pool.execute("parent")).toBe(second?.pid);
	const { pid, how } = await events.waitFor("preload.ended");
	expect({ pid, how }).toEqual({ pid: first?.pid, how: "released" });
	expect(events.of("worker.start_failed")).toEqual([]);
});
