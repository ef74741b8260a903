import {
	ApplicationCleanup,
	type CleanupParticipant,
	type SignalWish,
} from "../../src/run/application-cleanup.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { FakeProcessEvents } from "./fake-process-events.ts";

/** What is listened to while somebody takes part. */
export const ALL = { SIGINT: 1, SIGTERM: 1, SIGHUP: 1, exit: 1, beforeExit: 1 };

/** The orderly end of a program whose events and time are handed in. */
export class CleanupBench {
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
export function never(): Promise<void> {
	return new Promise(() => {});
}
