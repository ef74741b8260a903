import { describe, expect, test } from "vitest";
import type { ProcessEvents } from "../../src/os/this-program.ts";
import { outbox } from "../../src/outbox.ts";
import { EventHub } from "../../src/pool/observe/event-hub.ts";
import {
	ApplicationCleanup,
	applicationCleanup,
	type CleanupParticipant,
	type SignalWish,
} from "../../src/run/application-cleanup.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

type Listener = () => void;

/** The program's own events, on demand. */
class FakeProcessEvents implements ProcessEvents {
	readonly mainThread: boolean;
	readonly endedBy: NodeJS.Signals[] = [];
	readonly warnings: string[] = [];
	readonly listeners: Map<string, Set<Listener>> = new Map();

	constructor(mainThread = true) {
		this.mainThread = mainThread;
	}

	/** Before everybody who listens already, as the real ones do. */
	onSignal(signal: NodeJS.Signals, listener: Listener): Listener {
		const others = [...(this.listeners.get(signal) ?? [])];
		this.listeners.get(signal)?.clear();
		const leave = this.listen(signal, listener);
		for (const other of others) this.listen(signal, other);
		return leave;
	}

	listenOnce(event: string): void {
		const leave = this.listen(event, () => leave());
	}

	otherListeners(signal: NodeJS.Signals): number {
		return (this.listeners.get(signal)?.size ?? 0) - 1;
	}

	onExit(listener: Listener): Listener {
		return this.listen("exit", listener);
	}

	onBeforeExit(listener: Listener): Listener {
		return this.listen("beforeExit", listener);
	}

	endBy(signal: NodeJS.Signals): void {
		this.endedBy.push(signal);
	}

	exitCode(): number {
		return 0;
	}

	warn(message: string): void {
		this.warnings.push(message);
	}

	listen(event: string, listener: Listener): Listener {
		const all = this.listeners.get(event) ?? new Set();
		this.listeners.set(event, all.add(listener));
		return () => void all.delete(listener);
	}

	happen(event: string): void {
		for (const listener of [...(this.listeners.get(event) ?? [])]) listener();
	}

	/** What is listened to, and how often. */
	get installed(): object {
		return Object.fromEntries(
			[...this.listeners]
				.map(([event, all]) => [event, all.size])
				.filter(([, count]) => count !== 0),
		);
	}
}

/** What is listened to while somebody takes part. */
const ALL = { SIGINT: 1, SIGTERM: 1, SIGHUP: 1, exit: 1, beforeExit: 1 };

/** The orderly end of a program whose events and time are handed in. */
class CleanupBench {
	readonly clock: VirtualClock = new VirtualClock();
	readonly events: FakeProcessEvents;
	readonly cleanup: ApplicationCleanup;
	readonly calls: string[] = [];
	kept = 0;

	constructor(events: FakeProcessEvents = new FakeProcessEvents()) {
		this.events = events;
		this.cleanup = new ApplicationCleanup({
			events,
			clock: this.clock,
			keepAlive: () => {
				this.kept += 1;
				return () => {
					this.kept -= 1;
				};
			},
		});
	}

	/** Takes part, and leaves when its close is over. */
	join(
		name: string,
		close: () => Promise<void> = async () => {},
		signalWish: SignalWish = { onSignal: "end", graceMs: 5_000 },
		flush: () => Promise<void> = async () => {},
	): () => void {
		const participant: CleanupParticipant = {
			signalWish,
			close: async (graceMs) => {
				this.calls.push(`${name} closes within ${graceMs}`);
				await close();
				leave();
			},
			killNow: () => {
				this.calls.push(`${name} is killed`);
			},
			signalled: (signal, forced) => {
				this.calls.push(`${name} receives ${signal}${forced ? " again" : ""}`);
			},
			graceSpent: ({ signal, graceMs, otherListeners }) => {
				this.calls.push(
					`${name} sees ${graceMs} spent after ${signal} by ${otherListeners}`,
				);
			},
			flush: async () => {
				this.calls.push(`${name} flushes`);
				await flush();
			},
		};
		const leave = this.cleanup.register(participant);
		return leave;
	}
}

/** A close that has no end. */
function never(): Promise<void> {
	return new Promise(() => {});
}

test("handlers are installed once for all participants, and removed after the last one", () => {
	const { cleanup, events, ...bench } = new CleanupBench();
	expect(events.installed).toEqual({});
	const participant = { close: async () => {}, killNow: () => {} };
	const leave = cleanup.register(participant);
	const leaveToo = cleanup.register({ ...participant });
	expect(events.installed).toEqual(ALL);
	leave();
	leave();
	expect(events.installed).toEqual(ALL);
	leaveToo();
	expect(events.installed).toEqual({});
	expect(bench.calls).toEqual([]);
});

test("at the exit everybody is killed in that very turn, also when one throws", () => {
	const bench = new CleanupBench();
	bench.join("run");
	bench.cleanup.register({
		close: async () => {},
		killNow: () => {
			throw new Error("broken");
		},
		signalled: () => {
			throw new Error("broken");
		},
	});
	bench.join("pool");
	bench.events.happen("exit");
	expect(bench.calls).toEqual(["pool is killed", "run is killed"]);
});

test("an exit that a listener calls leaves no event untold, those included that report the exit", () => {
	const bench = new CleanupBench();
	const hub = new EventHub();
	const told: string[] = [];
	const emit = (sessionId: string) =>
		hub.emit({
			...{ type: "session.started", wallMs: 1 },
			...{ pool: "p", sessionId },
		});
	bench.cleanup.register({
		close: async () => {},
		killNow: () => emit("killed"),
	});
	hub.subscribeTo("session.started", ({ sessionId }) => {
		if (sessionId !== "first") return;
		bench.events.happen("exit");
		told.push("exited");
	});
	hub.subscribeTo("session.started", ({ sessionId }) => told.push(sessionId));
	outbox.during(() => {
		emit("first");
		emit("second");
	});
	expect(told).toEqual(["second", "killed", "exited", "first"]);
	emit("later");
	expect(told.at(-1)).toBe("later");
	expect(outbox.size).toBe(0);
});

test("when nothing is left to do everybody closes in order, once, and no handler is left", async () => {
	const bench = new CleanupBench();
	bench.join("pool");
	bench.cleanup.register({ close: async () => {}, killNow: () => {} });
	bench.events.happen("beforeExit");
	bench.events.happen("beforeExit");
	await bench.clock.advance(0);
	expect(bench.calls).toEqual(["pool closes within 2000", "pool flushes"]);
	expect(bench.events.installed).toEqual({});
	expect(bench.events.endedBy).toEqual([]);
});

test("a first signal while it closes at its end does not force: it is raised when that is done", async () => {
	const bench = new CleanupBench();
	const closing = Promise.withResolvers<void>();
	bench.join("pool", () => closing.promise);
	bench.events.happen("beforeExit");
	bench.events.happen("SIGINT");
	await bench.clock.advance(0);
	expect(bench.calls).toEqual([
		"pool closes within 2000",
		"pool receives SIGINT",
	]);
	closing.resolve();
	await bench.clock.advance(0);
	expect(bench.events.endedBy).toEqual(["SIGINT"]);
});

test("who takes part while others close at the end stays watched", async () => {
	const bench = new CleanupBench();
	bench.join("pool", async () => {
		bench.join("late");
	});
	bench.events.happen("beforeExit");
	await bench.clock.advance(0);
	expect(bench.events.installed).toEqual(ALL);
});

test("in another thread no signal arrives, and its exit still kills what is its own", () => {
	const bench = new CleanupBench(new FakeProcessEvents(false));
	bench.join("pool");
	expect(bench.events.installed).toEqual({ exit: 1, beforeExit: 1 });
	bench.events.happen("exit");
	expect(bench.calls).toEqual(["pool is killed"]);
});

test("two copies of the package share one, so that a signal is handled once", async () => {
	const copy = await import(
		`${new URL("../../src/run/application-cleanup.ts", import.meta.url)}?copy`
	);
	// Not before: while it is imported the runner itself may cease to listen.
	const before = process.listenerCount("SIGTERM");
	const participant = { close: async () => {}, killNow: () => {} };
	const leave = applicationCleanup.register(participant);
	const leaveToo = copy.applicationCleanup.register({ ...participant });
	expect(copy.ApplicationCleanup).not.toBe(ApplicationCleanup);
	expect(process.listenerCount("SIGTERM")).toBe(before + 1);
	leave();
	leaveToo();
	expect(process.listenerCount("SIGTERM")).toBe(before);
});

test("after the first signal everybody closes, newest first, and the signal is raised again without a handler", async () => {
	const bench = new CleanupBench();
	bench.join("run");
	bench.join("pool");
	bench.events.happen("SIGTERM");
	expect(bench.kept).toBe(1);
	await bench.clock.advance(0);
	expect(bench.calls).toEqual([
		"pool receives SIGTERM",
		"run receives SIGTERM",
		"pool closes within 2000",
		"run closes within 2000",
		"pool flushes",
		"run flushes",
	]);
	expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	expect(bench.events.installed).toEqual({});
	expect(bench.kept).toBe(0);
});

test("a pool that is made while the others close is killed before the signal is raised, and so is its run", async () => {
	const bench = new CleanupBench();
	const closing = Promise.withResolvers<void>();
	bench.cleanup.register({
		close: async () => {},
		killNow: () => void bench.calls.push("run is killed"),
	});
	bench.join("pool", () => closing.promise);
	bench.events.happen("SIGTERM");
	bench.join("late");
	closing.resolve();
	await bench.clock.advance(0);
	expect(bench.calls.slice(-3)).toEqual([
		"late is killed",
		"pool is killed",
		"run is killed",
	]);
	expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	expect(bench.events.installed).toEqual({});
});

test("who does not close in time is killed, and the signal is raised all the same", async () => {
	const bench = new CleanupBench();
	bench.join("pool", never);
	bench.events.happen("SIGINT");
	await bench.clock.advance(2_499);
	expect(bench.calls).not.toContain("pool is killed");
	await bench.clock.advance(1);
	expect(bench.calls).toContain("pool is killed");
	expect(bench.events.endedBy).toEqual([]);
	await bench.clock.advance(500);
	expect(bench.events.endedBy).toEqual(["SIGINT"]);
});

test("who closes because it was killed is not waited for longer", async () => {
	const bench = new CleanupBench();
	const done = Promise.withResolvers<void>();
	const leave = bench.cleanup.register({
		close: () => done.promise,
		killNow: () => done.resolve(),
	});
	bench.events.happen("SIGINT");
	await bench.clock.advance(2_500);
	expect(bench.events.endedBy).toEqual(["SIGINT"]);
	leave();
});

test("the second signal kills everybody at once and is raised, whichever it is; the first close has no say any more", async () => {
	const bench = new CleanupBench();
	const closing = Promise.withResolvers<void>();
	bench.join("pool", () => closing.promise);
	bench.events.happen("SIGINT");
	bench.events.happen("SIGTERM");
	expect(bench.calls.slice(-2)).toEqual([
		"pool receives SIGTERM again",
		"pool is killed",
	]);
	expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	closing.resolve();
	await bench.clock.advance(5_000);
	expect(bench.events.endedBy).toEqual(["SIGTERM"]);
});

describe("a program that listens to the signal itself", () => {
	test("keeps its pools open for the grace; then everybody closes and it ends by the signal, with a warning", async () => {
		const bench = new CleanupBench();
		bench.events.listen("SIGTERM", () => {});
		bench.join("run");
		bench.join("pool");
		bench.events.happen("SIGTERM");
		await bench.clock.advance(4_999);
		expect(bench.calls).toEqual([
			"pool receives SIGTERM",
			"run receives SIGTERM",
		]);
		expect(bench.kept).toBe(0);
		expect(bench.events.warnings).toEqual([]);
		await bench.clock.advance(1);
		expect(bench.calls.slice(2)).toEqual([
			"pool sees 5000 spent after SIGTERM by 1",
			"run sees 5000 spent after SIGTERM by 1",
			"pool closes within 2000",
			"run closes within 2000",
			"pool flushes",
			"run flushes",
		]);
		expect(bench.events.endedBy).toEqual(["SIGTERM"]);
		expect(bench.events.warnings).toEqual([
			expect.stringMatching(
				/^SIGTERM came 5 s ago .*listeners now: 1.*"ignore"/,
			),
		]);
	});

	test("even once, has the same grace; a second signal without a listener kills at once", async () => {
		const bench = new CleanupBench();
		bench.events.listenOnce("SIGTERM");
		bench.join("pool", never);
		bench.events.happen("SIGTERM");
		await bench.clock.advance(4_000);
		expect(bench.calls).toEqual(["pool receives SIGTERM"]);
		bench.events.happen("SIGTERM");
		expect(bench.calls.at(-1)).toBe("pool is killed");
		expect(bench.events.endedBy).toEqual(["SIGTERM"]);
		await bench.clock.advance(60_000);
		expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	});

	test("gets the same signal twice from a terminal and npm: within half a second that is one", async () => {
		const bench = new CleanupBench();
		bench.events.listen("SIGINT", () => {});
		bench.join("pool");
		bench.events.happen("SIGINT");
		await bench.clock.advance(499);
		bench.events.happen("SIGINT");
		await bench.clock.advance(0);
		expect(bench.calls).toEqual(["pool receives SIGINT"]);
		bench.events.happen("SIGTERM");
		expect(bench.calls.slice(1)).toEqual([
			"pool receives SIGTERM again",
			"pool is killed",
		]);
		expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	});

	test("that closes its pools within the grace is left alone", async () => {
		const bench = new CleanupBench();
		bench.events.listen("SIGTERM", () => {});
		const leave = bench.join("pool");
		bench.events.happen("SIGTERM");
		leave();
		expect(bench.events.installed).toEqual({ SIGTERM: 1 });
		bench.join("a later pool");
		await bench.clock.advance(60_000);
		expect(bench.calls).toEqual(["pool receives SIGTERM"]);
		expect(bench.events.endedBy).toEqual([]);
	});

	test("that has nothing left to do within the grace ends in order", async () => {
		const bench = new CleanupBench();
		bench.events.listen("SIGTERM", () => {});
		bench.join("pool");
		bench.events.happen("SIGTERM");
		bench.events.happen("beforeExit");
		await bench.clock.advance(60_000);
		expect(bench.calls).toEqual([
			"pool receives SIGTERM",
			"pool closes within 2000",
			"pool flushes",
		]);
		expect(bench.events.endedBy).toEqual([]);
	});

	test("has the longest grace of its pools", async () => {
		const bench = new CleanupBench();
		bench.events.listen("SIGTERM", () => {});
		bench.join("long", undefined, { onSignal: "end", graceMs: 9_000 });
		bench.join("short");
		bench.events.happen("SIGTERM");
		await bench.clock.advance(8_999);
		expect(bench.events.endedBy).toEqual([]);
		await bench.clock.advance(1);
		expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	});

	test.each(["before the signal", "within the grace"])(
		'is left alone with all its pools when one says "ignore" (%s)',
		async (when) => {
			const bench = new CleanupBench();
			bench.events.listen("SIGTERM", () => {});
			const joinMine = () =>
				bench.join("mine", never, { onSignal: "ignore", graceMs: 5_000 });
			bench.join("pool");
			if (when === "before the signal") joinMine();
			bench.events.happen("SIGTERM");
			if (when === "within the grace") joinMine();
			await bench.clock.advance(60_000);
			bench.events.happen("SIGTERM");
			await bench.clock.advance(60_000);
			expect(
				bench.calls.filter((each) => !/receives SIGTERM$/.test(each)),
			).toEqual([]);
			expect(bench.events.installed).toEqual({ ...ALL, SIGTERM: 2 });
			bench.events.happen("exit");
			expect(bench.calls.slice(-2)).toEqual([
				expect.stringMatching(/is killed$/),
				expect.stringMatching(/is killed$/),
			]);
		},
	);
});

test("what takes a second to be sent is sent; what takes longer is not waited for", async () => {
	const bench = new CleanupBench();
	bench.join("pool", undefined, undefined, never);
	bench.events.happen("SIGTERM");
	await bench.clock.advance(999);
	expect(bench.events.endedBy).toEqual([]);
	await bench.clock.advance(1);
	expect(bench.events.endedBy).toEqual(["SIGTERM"]);
});

test('a pool that says "ignore" closes when the program does not listen', async () => {
	const bench = new CleanupBench();
	bench.join("mine", undefined, { onSignal: "ignore", graceMs: 5_000 });
	bench.events.happen("SIGINT");
	await bench.clock.advance(0);
	expect(bench.calls).toEqual([
		"mine receives SIGINT",
		"mine closes within 2000",
		"mine flushes",
	]);
	expect(bench.events.endedBy).toEqual(["SIGINT"]);
});

test("neither a close that fails, now or later, nor a listener that throws prevents the others from closing", async () => {
	const bench = new CleanupBench();
	bench.join("run");
	for (const close of [
		() => {
			throw new Error("broken");
		},
		() => Promise.reject(new Error("broken")),
	])
		bench.cleanup.register({
			close,
			killNow: () => {},
			signalled: () => {
				throw new Error("broken");
			},
		});
	bench.events.happen("SIGHUP");
	await bench.clock.advance(0);
	expect(bench.calls).toContain("run closes within 2000");
	expect(bench.events.endedBy).toEqual(["SIGHUP"]);
});
