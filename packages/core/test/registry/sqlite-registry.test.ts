import { expect, onTestFinished, test, vi } from "vitest";
import { RegistryError } from "../../src/contract/errors.ts";
import { RunFile } from "../../src/registry/run-file.ts";
import { ENDED_KEPT } from "../../src/registry/workers.ts";
import { deadOwner } from "../cleanup/crafted-run.ts";
import { Bench } from "./sqlite-registry-bench.ts";

test("every change is on disk when the call returns", async () => {
	const bench = await Bench.open();
	const { registry } = bench;
	const incarnation = bench.reserve();
	expect(bench.read()).toMatchObject({
		workers: [{ incarnation, status: "reserved" }],
	});
	registry.activate(incarnation, deadOwner(), 9);
	expect(bench.read()).toMatchObject({
		workers: [{ status: "active", identity: deadOwner(), groupId: 9 }],
	});
	const location = { name: "rack-7", address: "10.0.0.7" };
	registry.locate(incarnation, location);
	expect(bench.read()).toMatchObject({ workers: [{ location }] });
	registry.end(incarnation, {
		exit: undefined,
		reason: "closed",
		killer: "none",
	});
	registry.transition("cleaning_stale");
	expect(bench.read()).toMatchObject({
		run: { state: "cleaning_stale" },
		workers: [{ status: "ended", location }],
	});
	expect(registry.statistics()).toMatchObject({ commits: 5, unwritten: 0 });
});

test("while it cannot write it does not try again at every change, and reports it once; what waits is written as one", async () => {
	const bench = await Bench.open();
	const { registry } = bench;
	const first = bench.reserve();
	bench.lock();
	registry.transition("cleaning_stale");
	expect(bench.of("registry.degraded")).toMatchObject([
		{
			code: "REGISTRY_LOCKED",
			unwritten: 1,
			message: expect.stringContaining("dataDir"),
		},
	]);
	const begunAt = performance.now();
	for (let n = 0; n < 400; n++) bench.reserve();
	// To try at each would take 25 ms for each.
	expect(performance.now() - begunAt).toBeLessThan(5_000);
	registry.end(first, { exit: undefined, reason: "closed", killer: "none" });
	expect(registry.statistics().unwritten).toBe(402);
	expect(registry.flush()).toBe(402);
	expect(bench.of("registry.degraded").length).toBe(1);

	bench.unlock();
	const { commits } = registry.statistics();
	expect(registry.flush()).toBe(0);
	expect(registry.statistics().commits).toBe(commits + 1);
	expect(bench.of("registry.recovered")).toMatchObject([{ written: 402 }]);
	expect((bench.read() as { workers: unknown[] }).workers.length).toBe(401);
	// Degraded again is reported again.
	bench.lock();
	registry.transition("running");
	expect(bench.of("registry.degraded").length).toBe(2);
});

test("as long as no worker is on record, a reservation that cannot be written is refused, also while it waits already", async () => {
	const bench = await Bench.open();
	bench.lock();
	bench.registry.transition("cleaning_stale");
	expect(() => bench.reserve()).toThrow(RegistryError);
	expect(bench.registry.list()).toEqual([]);
	bench.unlock();
	bench.reserve();
	expect(bench.registry.statistics()).toMatchObject({
		reserved: 1,
		unwritten: 0,
	});
});

test("closing with nothing left ends the run; with workers left, or unwritten, the next start has it", async () => {
	const clean = await Bench.open();
	clean.registry.close();
	clean.registry.close();
	expect([clean.released, clean.registry.state]).toEqual([
		[true],
		"terminated",
	]);
	expect(clean.read()).toMatchObject({
		run: { state: "terminated", clean: true, endedBy: "host" },
	});
	expect(clean.of("run.ended")).toMatchObject([{ clean: true }]);

	const left = await Bench.open();
	left.reserve();
	left.registry.close();
	expect([left.released, left.registry.state]).toEqual([[false], "terminated"]);
	expect(left.read()).toMatchObject({
		run: { state: "shutting_down", clean: undefined },
	});
	expect(left.of("run.ended")).toMatchObject([{ clean: false }]);

	const unwritten = await Bench.open();
	unwritten.lock();
	unwritten.registry.close();
	expect(unwritten.released).toEqual([false]);
	unwritten.unlock();
	expect(unwritten.read()).toMatchObject({ run: { state: "initializing" } });
});

test("in the last turn of a program a run that has ended waits for no disk, and one that has not does", async () => {
	const clean = await Bench.open();
	const written = vi.spyOn(RunFile.prototype, "write");
	onTestFinished(() => void written.mockRestore());
	clean.registry.close("at_once");
	expect(clean.released).toEqual([true]);
	expect(written.mock.lastCall?.[3]).toBe("host");
	// One plain file all the same.
	expect(clean.read()).toMatchObject({
		run: { state: "terminated", clean: true, endedBy: "host" },
	});

	const left = await Bench.open();
	left.reserve();
	left.registry.close("at_once");
	expect(left.released).toEqual([false]);
	expect(written.mock.lastCall?.[3]).toBe("power_loss");
});

test("the disk is waited for at the end of a run, and at no commit before", async () => {
	const { registry } = await Bench.open();
	const written = vi.spyOn(RunFile.prototype, "write");
	onTestFinished(() => void written.mockRestore());
	registry.transition("cleaning_stale");
	registry.transition("running");
	expect(written.mock.calls.map((call) => call[3])).toEqual([
		undefined,
		undefined,
	]);
	registry.close();
	expect(written.mock.lastCall?.[3]).toBe("power_loss");
});

test("the end of a worker that was never reserved is a defect of ours", async () => {
	const { registry } = await Bench.open();
	expect(() =>
		registry.end("nobody", {
			exit: undefined,
			reason: "closed",
			killer: "none",
		}),
	).toThrow(expect.objectContaining({ code: "IMPOSSIBLE_TRANSITION" }));
});

test("workers that ended long ago are read from the file: all are listed, found and counted", async () => {
	const bench = await Bench.open();
	const { registry } = bench;
	const oldest = bench.reserve();
	const names = [oldest];
	for (let n = 0; n < ENDED_KEPT + 50; n++) {
		const incarnation = bench.reserve();
		names.push(incarnation);
		registry.end(incarnation, {
			exit: { kind: "code", code: n % 256 },
			reason: "exited",
			killer: "none",
		});
	}
	const second = names[1] as string;
	expect(registry.list().map(({ incarnation }) => incarnation)).toEqual(names);
	expect(registry.living().map(({ incarnation }) => incarnation)).toEqual([
		oldest,
	]);
	expect(registry.lookup(second)).toMatchObject({
		status: "ended",
		end: { exit: { kind: "code", code: 0 } },
	});
	expect(registry.lookup("nobody")).toBeUndefined();
	expect(registry.statistics()).toMatchObject({
		reserved: 1,
		ended: ENDED_KEPT + 50,
	});
	// What cannot happen to a worker in memory cannot happen to one in the file.
	const again = {
		incarnation: second,
		workerId: "w-0",
		pool: "w",
		fingerprint: "x",
		files: [],
	};
	expect(() => registry.reserve(again)).toThrow("is reserved already");
	expect(() => registry.activate(second, deadOwner(), 9)).toThrow("is ended");
	registry.end(second, { exit: undefined, reason: "hung", killer: "unknown" });
	expect(registry.lookup(second)?.end?.reason).toBe("exited");

	bench.damage();
	expect(registry.lookup(second)).toBeUndefined();
	expect(registry.list().length).toBe(ENDED_KEPT + 1);
	registry.end(oldest, { exit: undefined, reason: "closed", killer: "none" });
	registry.close();
	expect(registry.lookup(second)).toBeUndefined();
	expect(registry.list().length).toBeGreaterThanOrEqual(ENDED_KEPT);
});
