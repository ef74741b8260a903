import type { PingReply } from "../../src/contract/connection.ts";
import {
	HeartbeatMonitor,
	HeartbeatRounds,
} from "../../src/heartbeat/heartbeat-monitor.ts";
import type { ResolvedHeartbeat } from "../../src/options/pool-options.ts";
import type { FakeProcess } from "../../src/testing/fake-process.ts";
import {
	type VirtualWorld,
	virtualWorld,
} from "../../src/testing/virtual-pool.ts";

export type Ping = (signal: AbortSignal) => Promise<PingReply>;
export const answers: Ping = async () => ({ callsRunning: 0 });
export const neverAnswers: Ping = () => new Promise(() => undefined);

/** The defaults: hung after 10 s of silence and three missed pings, one every 2 s. */
export const OPTIONS: ResolvedHeartbeat = {
	intervalMs: 2_000,
	hungAfterMs: 10_000,
	missedPings: 3,
	pingTimeoutMs: 2_000,
	busyLimitMs: Number.POSITIVE_INFINITY,
};

/** One process that is watched. */
export interface MonitorScene extends VirtualWorld {
	readonly process: FakeProcess;
	readonly monitor: HeartbeatMonitor;
	/** The silences after which it was said to hang. */
	readonly hung: readonly number[];
	/** Answers from now on as this one does. */
	answer(ping: Ping): void;
	/** The events of the heartbeat, in order. */
	beats(): readonly string[];
}

export function monitorScene(
	ping: Ping | "not offered",
	options: Partial<ResolvedHeartbeat> = {},
): MonitorScene {
	const virtual = virtualWorld();
	const process = virtual.host.plant({ program: (self) => self.idle() });
	const hung: number[] = [];
	let current = ping === "not offered" ? neverAnswers : ping;
	const monitor = new HeartbeatMonitor({
		ref: { pool: "p", workerId: "p-0", incarnation: "r-1" },
		identity: process.identity,
		ping: ping === "not offered" ? undefined : (signal) => current(signal),
		options: { ...OPTIONS, ...options },
		world: virtual.world,
		rounds: new HeartbeatRounds(virtual.clock),
		onHung: (silentMs) => hung.push(silentMs),
	});
	return {
		...virtual,
		process,
		monitor,
		hung,
		answer: (next) => {
			current = next;
		},
		beats: () =>
			virtual.events
				.types()
				.filter((type) => type.startsWith("heartbeat."))
				.map((type) => type.slice("heartbeat.".length)),
	};
}
