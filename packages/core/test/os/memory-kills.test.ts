import { expect, test } from "vitest";
import { killIn, MemoryKills } from "../../src/os/memory-kills.ts";

const OUTSIDE = "4026531836";
const LOG = [
	"6,1,1000,-;Linux version 6.18",
	"6,900,5000000,-;Out of memory: Killed process 77 (python3) total-vm:1kB, anon-rss:1kB",
	"3,901,90000000,-;Memory cgroup out of memory: Killed process 4711 (python3) total-vm:8kB, anon-rss:7kB, shmem-rss:0kB, UID:0 pgtables:15kB",
	"6,902,90000500,-;oom_reaper: reaped process 4711 (python3), now anon-rss:0kB",
];
/** It started 80 s after the machine. */
const worker = { pid: 4711, startTime: "8000", pidNamespace: OUTSIDE };
const inside = { ...worker, pidNamespace: "4026532999" };

test("a record of the kernel's log names a process by its pid, and not one that had the pid before", () => {
	expect(killIn(LOG, worker)).toBe(
		"the kernel's log: Memory cgroup out of memory: Killed process 4711 (python3) total-vm:8kB, anon-rss:7kB",
	);
	expect(killIn(LOG, { pid: 77, startTime: "8000" })).toBeUndefined();
	expect(killIn(LOG, { pid: 471, startTime: "8000" })).toBeUndefined();
});

test("where the log can be read it decides, and the counter of a group does not", async () => {
	let count = 3;
	const kills = new MemoryKills({ count: () => count, log: async () => LOG });
	kills.look("first");
	count = 4;
	expect(await kills.evidence(worker, "own")).toMatchObject({
		...{ kind: "killed", evidence: expect.stringContaining("4711") },
	});
	const other = { ...worker, pid: 4712 };
	expect(await kills.evidence(other, "own")).toEqual({ kind: "none" });
	// Its record may have been overwritten.
	expect(await kills.evidence(other, "other")).toBeUndefined();
	const empty = new MemoryKills({ count: () => 3, log: async () => [] });
	expect(await empty.evidence(worker, "own")).toBeUndefined();
});

test("elsewhere the counter has to have grown within the last looks, and each kill explains one end", async () => {
	let count: number | undefined = 3;
	const kills = new MemoryKills({
		count: () => count,
		log: async () => undefined,
	});
	kills.look("first");
	expect(await kills.evidence(worker, "own")).toBeUndefined();
	count = 4;
	// What killed it may be counted before its end is seen.
	kills.look("further");
	expect(await kills.evidence(worker, "own")).toEqual({
		...{
			kind: "killed",
			evidence: expect.stringMatching(/counts 4 .* and 3 a/),
		},
	});
	expect(await kills.evidence(worker, "own")).toBeUndefined();
	count = 5;
	kills.look("further");
	kills.look("further");
	expect(await kills.evidence(worker, "own")).toBeUndefined();
	count = 6;
	kills.look("first");
	expect(await kills.evidence(worker, "own")).toBeUndefined();
	count = undefined;
	expect(await kills.evidence(worker, "own")).toBeUndefined();
});

test("in a container the log's pids are others, and of another program's process the own counter says nothing", async () => {
	let count = 3;
	const kills = new MemoryKills({ count: () => count, log: async () => LOG });
	kills.look("first");
	expect(await kills.evidence(inside, "own")).toBeUndefined();
	count = 4;
	expect(await kills.evidence(inside, "other")).toBeUndefined();
	expect(await kills.evidence(inside, "own")).toEqual({
		...{ kind: "killed", evidence: expect.stringContaining("oom_kill") },
	});
});
