import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, test } from "vitest";
import type { ProcessSpec, StartedProcess } from "../../src/contract/world.ts";
import {
	type FakeProcess,
	FakeProcessHost,
	type FakeProgram,
	startAsWorker,
	VirtualClock,
	writeReady,
} from "../../src/testing.ts";
import { startProgram } from "./start-program.ts";

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

describe("a fake process", () => {
	test("ends with code 0 when its program returns, its output complete", async () => {
		const [started] = await start((self) => {
			self.write("one");
			self.write("two", "stderr");
		});
		expect(await started.exited).toEqual({ kind: "code", code: 0 });
		expect(await text(started.stdout)).toBe("one\n");
		expect(await text(started.stderr)).toBe("two\n");
		expect(host.living()).toEqual([]);
	});

	test("ends with code 1 and its stack on standard error when its program throws", async () => {
		const [started] = await start(() => {
			throw new Error("on purpose");
		});
		expect(await started.exited).toEqual({ kind: "code", code: 1 });
		expect(await text(started.stderr)).toContain("on purpose");
	});

	test("dies of SIGTERM unless it handles it, and of SIGKILL in any case", async () => {
		const [started, process] = await start((self) =>
			self.ignore("SIGTERM").ignore("SIGKILL").idle(),
		);
		expect(started.signal("SIGTERM", "process")).toBe("sent");
		expect(process.alive).toBe(true);
		expect(started.signal("SIGKILL", "process")).toBe("sent");
		expect(await started.exited).toEqual({ kind: "signal", signal: "SIGKILL" });
		expect(started.signal("SIGKILL", "process")).toBe("gone");
		expect(process.received).toEqual(["SIGTERM", "SIGKILL"]);
	});

	test("takes other signals only after SIGCONT while it is stopped", async () => {
		const [started, process] = await start((self) => self.idle());
		started.signal("SIGSTOP", "process");
		started.signal("SIGTERM", "process");
		expect(process).toMatchObject({ stopped: true, alive: true });
		started.signal("SIGCONT", "process");
		expect(await started.exited).toEqual({ kind: "signal", signal: "SIGTERM" });
	});

	test("takes its time to die where the kernel does", async () => {
		const [started, process] = await start((self) => self.idle());
		process.endDelayMs = 20;
		started.signal("SIGKILL", "process");
		await clock.advance(19);
		expect(process.alive).toBe(true);
		await clock.advance(1);
		expect(process.alive).toBe(false);
	});

	test("speaks the control channel", async () => {
		const [started] = await start(
			async (self) => {
				const message = await startAsWorker(self);
				writeReady(self, { workerId: message.workerId });
				await self.idle();
			},
			{ control: true },
		);
		const lifeline = await host.listenLifeline("/run/l");
		started.control?.write(
			`${JSON.stringify({ workerId: "p-0", lifeline: "/run/l" })}\n`,
		);
		await clock.settle();
		expect(String(started.control?.read())).toBe(
			'{"ready":{"workerId":"p-0"}}\n',
		);
		lifeline.close();
		expect(await started.exited).toEqual({ kind: "signal", signal: "SIGKILL" });
	});

	test("exits at once when its lifeline has no listener", async () => {
		const [started] = await start(async (self) => {
			self.holdLifeline("/nowhere");
			await self.idle();
		});
		expect(await started.exited).toEqual({ kind: "code", code: 0 });
	});

	test("reads its standard input until the adapter ends it", async () => {
		const [started] = await start(
			async (self) => self.write(await text(self.stdin as Readable)),
			{ stdin: "pipe" },
		);
		started.stdin?.end("hello");
		expect(await text(started.stdout)).toBe("hello\n");
	});

	test("writing to its standard input after its death fails as EPIPE", async () => {
		const [started, process] = await start((self) => self.idle(), {
			stdin: "pipe",
		});
		process.exit(0);
		const failure = new Promise((resolve) =>
			started.stdin?.once("error", resolve),
		);
		started.stdin?.write("x");
		expect(await failure).toMatchObject({ code: "EPIPE" });
	});
});

describe("a group of fake processes", () => {
	test("a group signal reaches the children in the group after their leader is gone, and not those that left", async () => {
		let left: FakeProcess | undefined;
		const [started, leader] = await start((self) => {
			self.fork((child) => child.idle());
			left = self.fork((child) => child.idle(), { newGroup: true });
		});
		await started.exited;
		expect(host.members(started.groupId)).toHaveLength(1);
		expect(started.signal("SIGKILL", "process")).toBe("gone");
		expect(started.signal("SIGKILL", "group")).toBe("sent");
		expect(host.living()).toEqual([left]);
		expect(started.signal("SIGKILL", "group")).toBe("gone");
		expect(leader.alive).toBe(false);
	});

	test("output ends when the last process that holds it is gone", async () => {
		let child: FakeProcess | undefined;
		const [started] = await start((self) => {
			child = self.fork((child) => child.idle());
			self.fork((child) => child.idle(), { holdsOutput: false });
		});
		await started.exited;
		child?.write("still here");
		started.stdout.setEncoding("utf8");
		expect(started.stdout.read()).toBe("still here\n");
		expect(started.stdout.readableEnded).toBe(false);
		child?.exit(0);
		expect(await text(started.stdout)).toBe("");
	});

	test("a dead child whose parent does not reap stays a zombie, which is dead", async () => {
		let child: FakeProcess | undefined;
		await start(async (self) => {
			self.reapsChildren = false;
			child = self.fork(() => undefined);
			await self.idle();
		});
		const pid = child?.pid ?? 0;
		expect(host.facts(pid)?.condition).toBe("zombie");
		expect(host.observe(pid)).toBe("gone");
		child?.reap();
		expect(host.facts(pid)).toBeUndefined();
	});
});
