import { expect, test } from "vitest";
import {
	type KillTarget,
	ProcessKiller,
} from "../../src/cleanup/process-killer.ts";
import type { SnapshotHost } from "../../src/os/descendants.ts";
import { systemClock } from "../../src/os/system-clock.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { blindTo, seenAs, start } from "./bench.ts";
import { deadOwner } from "./crafted-run.ts";
import { eventually, isAlive, machine } from "./hosts.ts";

const LIMITS = { graceMs: 300, deadlineMs: 10_000 };
const killer = new ProcessKiller(machine, systemClock);

/** The same targets at every look, as long as they live. */
function always(...targets: KillTarget[]): () => readonly KillTarget[] {
	return () => targets.filter(({ identity }) => isAlive(identity.pid));
}

async function fates(
	find: () => readonly KillTarget[],
	by: ProcessKiller = killer,
	limits = LIMITS,
): Promise<readonly string[]> {
	const release = machine.keepAlive();
	const results = await by.end(find, limits);
	release();
	return results.map(({ fate }) => fate);
}

test("a process that leaves on SIGTERM is not killed", async () => {
	const { identity, exited } = await start("sleeps.sh");
	expect(await fates(always({ identity }))).toEqual(["ended_on_term"]);
	expect(await exited).toEqual({ kind: "signal", signal: "SIGTERM" });
});

test("one that ignores SIGTERM is killed after the grace, and asked only once", async () => {
	const { identity, exited } = await start("ignores-sigterm.sh");
	const begunAt = performance.now();
	expect(await fates(always({ identity }))).toEqual(["killed"]);
	expect(performance.now() - begunAt).toBeGreaterThanOrEqual(LIMITS.graceMs);
	expect(await exited).toEqual({ kind: "signal", signal: "SIGKILL" });
});

test("without a grace it is killed at once", async () => {
	const { identity, exited } = await start("sleeps.sh");
	const now = { graceMs: 0, deadlineMs: 10_000 };
	expect(await fates(always({ identity }), killer, now)).toEqual(["killed"]);
	expect(await exited).toEqual({ kind: "signal", signal: "SIGKILL" });
});

test("nothing to end takes no time", async () => {
	expect(await fates(() => [])).toEqual([]);
});

test("it looks again until nothing is found: what appears on the way is ended too", async () => {
	const first = await start("sleeps.sh");
	const second = await start("sleeps.sh");
	let looks = 0;
	const find = (): readonly KillTarget[] =>
		always(...(looks++ === 0 ? [first] : [first, second]))();
	expect(await fates(find)).toEqual(["ended_on_term", "ended_on_term"]);
	expect(looks).toBe(3);
});

test("what ends while it is looked for may have left something since: it looks once more", async () => {
	const parent = await start("sleeps.sh");
	const child = await start("sleeps.sh");
	let hasForked = false;
	const host = seenAs({
		// The parent is listed, and forks and ends before anything is done about it.
		observe: (pid) => {
			if (pid !== parent.identity.pid) return machine.observe(pid);
			hasForked = true;
			return "gone";
		},
	});
	const find = (): readonly KillTarget[] =>
		always(parent, ...(hasForked ? [child] : []))();
	expect(await fates(find, new ProcessKiller(host, systemClock))).toEqual([
		"ended_on_term",
		"ended_on_term",
	]);
	expect(isAlive(child.identity.pid)).toBe(false);
});

test("what forks and ends faster than it is listed does not hold up the event loop", async () => {
	const host = seenAs({ observe: () => "gone" });
	let looks = 0;
	let hadATurn = false;
	setImmediate(() => {
		hadATurn = true;
	});
	const find = (): readonly KillTarget[] =>
		hadATurn || ++looks > 10_000
			? []
			: [{ identity: deadOwner({ pid: looks }) }];
	await fates(find, new ProcessKiller(host, systemClock));
	expect(looks).toBeLessThan(10_000);
});

test("a look that takes longer than the limits spares nothing", async () => {
	let slow = 0;
	const clock = { ...systemClock, now: () => systemClock.now() + slow };
	const slowly =
		(find: () => readonly KillTarget[]): (() => readonly KillTarget[]) =>
		() => {
			slow += 2 * LIMITS.deadlineMs;
			return find();
		};
	const by = new ProcessKiller(machine, clock);
	const willing = await start("sleeps.sh");
	expect(await fates(slowly(always(willing)), by)).toEqual(["ended_on_term"]);
	const stubborn = await start("ignores-sigterm.sh");
	expect(await fates(slowly(always(stubborn)), by)).toEqual(["killed"]);
});

test("a group of ours is killed as one, members included that were not found", async () => {
	const { identity } = await start("forks-a-child.sh");
	const target = { identity, wholeGroup: identity.pid };
	const now = { graceMs: 0, deadlineMs: 10_000 };
	expect(await fates(always(target), killer, now)).toEqual(["killed"]);
	// It waits for what was found; the child dies of the same signal in its own time.
	await eventually(
		"the end of the child",
		() => machine.members(identity.pid).length === 0,
	);
});

test("a group with a protected process in it is not signalled as one", async () => {
	const { identity, groupId } = await start("forks-a-child.sh");
	const child = machine
		.members(groupId)
		.find((member) => member.identity.pid !== identity.pid);
	const host = seenAs({ ancestors: () => [child?.identity.pid ?? 0] });
	const now = { graceMs: 0, deadlineMs: 10_000 };
	const target = { identity, wholeGroup: groupId };
	expect(
		await fates(always(target), new ProcessKiller(host, systemClock), now),
	).toEqual(["killed"]);
	expect(machine.members(groupId)).toMatchObject([
		{ identity: child?.identity },
	]);
});

test("a pid that was given away is not signalled", async () => {
	const { identity } = await start("sleeps.sh");
	const recorded = { ...identity, startTime: "1" };
	expect(await fates(() => [{ identity: recorded }])).toEqual([
		"ended_on_term",
	]);
	expect(isAlive(identity.pid)).toBe(true);
});

test("one that cannot be read is not signalled, and reported", async () => {
	const { identity } = await start("sleeps.sh");
	const host = blindTo(identity);
	host.signal = () => "refused";
	expect(
		await fates(always({ identity }), new ProcessKiller(host, systemClock)),
	).toEqual(["refused"]);
});

test("this process and its ancestors are never signalled", async () => {
	const ancestors = machine.ancestors().map((pid) => machine.observe(pid));
	expect(ancestors.length).toBeGreaterThan(0);
	const identities = [machine.self, ...ancestors].filter(
		(seen) => typeof seen !== "string",
	);
	const targets = identities.map((identity) => ({ identity }));
	expect(new Set(await fates(() => targets))).toEqual(new Set(["protected"]));
});

test("one that cannot die is reported at the deadline, and never waited for longer", async () => {
	// Nothing here can make a process uninterruptible: the host reports that it lives.
	const stuck = deadOwner();
	const signals: string[] = [];
	const host: SnapshotHost = seenAs({
		observe: () => stuck,
		signal: (_, signal) => {
			signals.push(signal);
			return "sent";
		},
	});
	const clock = new VirtualClock();
	const ended = new ProcessKiller(host, clock).end(
		() => [{ identity: stuck }],
		{
			graceMs: 500,
			deadlineMs: 5_000,
		},
	);
	await clock.advance(5_000);
	expect(await ended).toMatchObject([{ fate: "survived" }]);
	expect(signals.filter((signal) => signal === "SIGTERM").length).toBe(1);
	expect(
		signals.filter((signal) => signal === "SIGKILL").length,
	).toBeGreaterThan(1);
	expect(clock.now()).toBe(5_000);
});
