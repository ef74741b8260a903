import { beforeEach, describe, expect, test } from "vitest";
import { StartError } from "../../src/contract/errors.ts";
import {
	formatMarker,
	generateRunId,
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
	markerOf,
} from "../../src/contract/identity.ts";
import type { ProcessSpec, StartedProcess } from "../../src/contract/world.ts";
import {
	FakeMachine,
	type FakeProcess,
	FakeProcessHost,
	type FakeProgram,
	SeededRandom,
	VirtualClock,
} from "../../src/testing.ts";
import { PROGRAM, startProgram } from "./start-program.ts";

const clock = new VirtualClock();
let host: FakeProcessHost;
beforeEach(() => {
	host = new FakeProcessHost({ clock });
});
const start = (
	program: FakeProgram,
	spec?: Partial<ProcessSpec>,
): Promise<[StartedProcess, FakeProcess]> =>
	startProgram(host, clock, program, spec);

describe("FakeProcessHost", () => {
	test("records the identity before the program does anything, and kills it when that fails", async () => {
		host.install("program", () => expect.unreachable());
		const refusal = new Error("not recorded");
		const started = host.source.start(PROGRAM, () => {
			throw refusal;
		});
		await expect(started).rejects.toBe(refusal);
		await clock.settle();
		expect(host.living()).toEqual([]);
	});

	test("starts fail on demand, wait on demand, and fail for an unknown program", async () => {
		host.failSpawns();
		await expect(start((self) => self.idle())).rejects.toBeInstanceOf(
			StartError,
		);
		const release = host.holdSpawns();
		const held = start((self) => self.idle());
		await clock.settle();
		expect(host.started).toEqual([]);
		release();
		await held;
		expect(host.started).toHaveLength(1);
		await expect(
			start((self) => self.idle(), { executable: "other" }),
		).rejects.toThrow("other");
	});

	test("never signals a process that only has the same pid", async () => {
		const [started, process] = await start((self) => self.idle());
		process.exit(0);
		const stranger = host.plant({
			program: (self) => self.idle(),
			pid: process.pid,
		});
		expect(host.signal(started.identity, "SIGKILL")).toBe("gone");
		expect(started.signal("SIGKILL", "process")).toBe("gone");
		expect(host.signal(stranger.identity, "SIGKILL")).toBe("sent");
	});

	test("sends nothing to what it cannot read or may not signal", async () => {
		const [started, process] = await start((self) => self.idle());
		process.readable = false;
		expect(host.observe(process.pid)).toBe("unknown");
		expect(host.facts(process.pid)).toBeUndefined();
		expect(host.signal(started.identity, "SIGKILL")).toBe("refused");
		process.readable = true;
		process.permitted = false;
		expect(started.signal("SIGKILL", "group")).toBe("refused");
		expect(process.received).toEqual([]);
	});

	test("finds every marked process, those that left the group included, and not those that cleared their environment", async () => {
		const runId = generateRunId(clock.wall(), new SeededRandom());
		const marker = markerOf(runId, host.self, "d");
		const env = {
			[MARKER_VARIABLE]: formatMarker(marker),
			[INCARNATION_VARIABLE]: "i-1",
		};
		await start(
			async (self) => {
				self.fork((child) => child.idle(), { newGroup: true });
				self.fork((child) => child.idle(), {
					env: { [MARKER_VARIABLE]: undefined },
				});
				await self.idle();
			},
			{ env },
		);
		expect(host.marked()).toMatchObject([
			{ marker, incarnation: "i-1", name: "program" },
			{ marker, incarnation: "i-1", name: "program" },
		]);
		expect(host.living()).toHaveLength(3);
	});

	test("two hosts on one machine see each other's processes", async () => {
		const machine = new FakeMachine({ clock });
		const [one, two] = [
			new FakeProcessHost({ clock, machine }),
			new FakeProcessHost({ clock, machine }),
		];
		expect(two.observe(one.self.pid)).toEqual(one.self);
		machine.find(one.self.pid)?.die({ kind: "signal", signal: "SIGKILL" });
		expect(two.observe(one.self.pid)).toBe("gone");
	});

	test("keeps account of directories, files, echoes, and of what keeps the program open", () => {
		host.createDirectory("/d");
		expect(() => host.createDirectory("/d")).toThrow("EEXIST");
		host.createDirectory("/d/e");
		host.unremovable.add("/fixed");
		expect(host.remove(["/d", "/fixed", "/missing"])).toEqual(["/fixed"]);
		expect([...host.machine.paths]).toEqual([]);
		host.echo("line");
		expect(host.echoed).toEqual(["line"]);
		const release = host.keepAlive();
		host.keepAlive();
		release();
		release();
		expect(host.keptAlive).toBe(1);
	});
});
