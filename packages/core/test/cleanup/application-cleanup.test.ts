import { expect, test } from "vitest";
import {
	ApplicationCleanup,
	applicationCleanup,
	type CleanupParticipant,
} from "../../src/cleanup/application-cleanup.ts";
import type { ProcessEvents } from "../../src/os/process-events.ts";
import { VirtualClock } from "../../src/testing.ts";

type Listener = () => void;

/** The program's own events, on demand. */
class FakeProcessEvents implements ProcessEvents {
	readonly mainThread: boolean;
	readonly raised: NodeJS.Signals[] = [];
	readonly listeners = new Map<string, Set<Listener>>();

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

	signalListeners(signal: NodeJS.Signals): number {
		return this.listeners.get(signal)?.size ?? 0;
	}

	onExit(listener: Listener): Listener {
		return this.listen("exit", listener);
	}

	onBeforeExit(listener: Listener): Listener {
		return this.listen("beforeExit", listener);
	}

	raise(signal: NodeJS.Signals): void {
		this.raised.push(signal);
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

const ALL = { SIGINT: 1, SIGTERM: 1, SIGHUP: 1, exit: 1, beforeExit: 1 };

class Bench {
	readonly clock = new VirtualClock();
	readonly events: FakeProcessEvents;
	readonly cleanup: ApplicationCleanup;
	readonly told: string[] = [];
	kept = 0;

	constructor(events = new FakeProcessEvents()) {
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
		fields: Pick<CleanupParticipant, "onSignal"> = {},
	): () => void {
		const participant: CleanupParticipant = {
			...fields,
			close: async (graceMs) => {
				this.told.push(`${name} closes within ${graceMs}`);
				await close();
				leave();
			},
			killNow: () => {
				this.told.push(`${name} is killed`);
			},
			signalled: (signal, forced) => {
				this.told.push(`${name} hears ${signal}${forced ? " again" : ""}`);
			},
		};
		const leave = this.cleanup.register(participant);
		return leave;
	}
}

function never(): Promise<void> {
	return new Promise(() => {});
}

test("there are handlers while somebody takes part, once for all, and none after", () => {
	const { cleanup, events, ...bench } = new Bench();
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
	expect(bench.told).toEqual([]);
});

test("after the first signal everybody closes, newest first, and the signal is raised again without a handler", async () => {
	const bench = new Bench();
	bench.join("run");
	bench.join("pool");
	bench.events.happen("SIGTERM");
	expect(bench.kept).toBe(1);
	await bench.clock.advance(0);
	expect(bench.told).toEqual([
		"pool hears SIGTERM",
		"run hears SIGTERM",
		"pool closes within 2000",
		"run closes within 2000",
	]);
	expect(bench.events.raised).toEqual(["SIGTERM"]);
	expect(bench.events.installed).toEqual({});
	expect(bench.kept).toBe(0);
});

test("who does not close in time is killed, and the signal is raised all the same", async () => {
	const bench = new Bench();
	bench.join("pool", never);
	bench.events.happen("SIGINT");
	await bench.clock.advance(2_499);
	expect(bench.told).not.toContain("pool is killed");
	await bench.clock.advance(1);
	expect(bench.told).toContain("pool is killed");
	expect(bench.events.raised).toEqual([]);
	await bench.clock.advance(500);
	expect(bench.events.raised).toEqual(["SIGINT"]);
});

test("who closes because it was killed is not waited for longer", async () => {
	const bench = new Bench();
	const done = Promise.withResolvers<void>();
	const leave = bench.cleanup.register({
		close: () => done.promise,
		killNow: () => done.resolve(),
	});
	bench.events.happen("SIGINT");
	await bench.clock.advance(2_500);
	expect(bench.events.raised).toEqual(["SIGINT"]);
	leave();
});

test("the second signal kills everybody at once and is raised, whichever it is; the first close has no say any more", async () => {
	const bench = new Bench();
	const closing = Promise.withResolvers<void>();
	bench.join("pool", () => closing.promise);
	bench.events.happen("SIGINT");
	bench.events.happen("SIGTERM");
	expect(bench.told.slice(-2)).toEqual([
		"pool hears SIGTERM again",
		"pool is killed",
	]);
	expect(bench.events.raised).toEqual(["SIGTERM"]);
	closing.resolve();
	await bench.clock.advance(5_000);
	expect(bench.events.raised).toEqual(["SIGTERM"]);
});

test("a program that listens to the signal itself is not ended, and what takes part later is watched", async () => {
	const bench = new Bench();
	bench.events.listen("SIGTERM", () => {});
	bench.join("pool", async () => {
		bench.join("late", never);
	});
	bench.events.happen("SIGTERM");
	await bench.clock.advance(0);
	expect(bench.events.raised).toEqual([]);
	expect(bench.events.installed).toEqual({ ...ALL, SIGTERM: 2 });
});

test("a program that listens once goes on as well; a second signal that nobody listens to is what it dies of", async () => {
	const bench = new Bench();
	bench.events.listenOnce("SIGTERM");
	bench.join("pool", never);
	bench.events.happen("SIGTERM");
	await bench.clock.advance(0);
	expect(bench.events.raised).toEqual([]);
	bench.events.happen("SIGTERM");
	expect(bench.told.at(-1)).toBe("pool is killed");
	expect(bench.events.raised).toEqual(["SIGTERM"]);
});

test("whoever is left to a program that listens is not closed, hears the signal, and is watched further", async () => {
	const bench = new Bench();
	bench.events.listen("SIGTERM", () => {});
	bench.join("mine", never, { onSignal: "left_to_program" });
	bench.join("pool");
	bench.events.happen("SIGTERM");
	await bench.clock.advance(0);
	bench.events.happen("SIGTERM");
	await bench.clock.advance(10_000);
	expect(bench.told).toEqual([
		"pool hears SIGTERM",
		"mine hears SIGTERM",
		"pool closes within 2000",
		"mine hears SIGTERM",
	]);
	expect(bench.events.installed).toEqual({ ...ALL, SIGTERM: 2 });
	bench.events.happen("exit");
	expect(bench.told.at(-1)).toBe("mine is killed");
});

test("a second signal spares whoever is left to a program that listens", async () => {
	const bench = new Bench();
	bench.events.listen("SIGTERM", () => {});
	bench.join("mine", never, { onSignal: "left_to_program" });
	bench.join("pool", never);
	bench.events.happen("SIGTERM");
	bench.events.happen("SIGTERM");
	expect(bench.told.filter((each) => each.endsWith("killed"))).toEqual([
		"pool is killed",
	]);
});

test("whoever is left to the program is closed when that does not listen", async () => {
	const bench = new Bench();
	bench.join("mine", undefined, { onSignal: "left_to_program" });
	bench.events.happen("SIGINT");
	await bench.clock.advance(0);
	expect(bench.told).toEqual(["mine hears SIGINT", "mine closes within 2000"]);
	expect(bench.events.raised).toEqual(["SIGINT"]);
});

test("at the exit everybody is killed in that very turn, also when one throws", () => {
	const bench = new Bench();
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
	expect(bench.told).toEqual(["pool is killed", "run is killed"]);
});

test("a close that fails, now or later, and a listener that throws keep nobody from closing", async () => {
	const bench = new Bench();
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
	expect(bench.told).toContain("run closes within 2000");
	expect(bench.events.raised).toEqual(["SIGHUP"]);
});

test("when nothing is left to do everybody closes in order, once, and no handler is left", async () => {
	const bench = new Bench();
	bench.join("pool");
	bench.cleanup.register({ close: async () => {}, killNow: () => {} });
	bench.events.happen("beforeExit");
	bench.events.happen("beforeExit");
	await bench.clock.advance(0);
	expect(bench.told).toEqual(["pool closes within 2000"]);
	expect(bench.events.installed).toEqual({});
	expect(bench.events.raised).toEqual([]);
});

test("a first signal while it closes at its end does not force: it is raised when that is done", async () => {
	const bench = new Bench();
	const closing = Promise.withResolvers<void>();
	bench.join("pool", () => closing.promise);
	bench.events.happen("beforeExit");
	bench.events.happen("SIGINT");
	await bench.clock.advance(0);
	expect(bench.told).toEqual(["pool closes within 2000", "pool hears SIGINT"]);
	closing.resolve();
	await bench.clock.advance(0);
	expect(bench.events.raised).toEqual(["SIGINT"]);
});

test("who takes part while others close at the end stays watched", async () => {
	const bench = new Bench();
	bench.join("pool", async () => {
		bench.join("late");
	});
	bench.events.happen("beforeExit");
	await bench.clock.advance(0);
	expect(bench.events.installed).toEqual(ALL);
});

test("in another thread no signal arrives, and its exit still kills what is its own", () => {
	const bench = new Bench(new FakeProcessEvents(false));
	bench.join("pool");
	expect(bench.events.installed).toEqual({ exit: 1, beforeExit: 1 });
	bench.events.happen("exit");
	expect(bench.told).toEqual(["pool is killed"]);
});

test("two copies of the package share one, so that a signal is handled once", async () => {
	const copy = await import(
		`${new URL("../../src/cleanup/application-cleanup.ts", import.meta.url)}?copy`
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
