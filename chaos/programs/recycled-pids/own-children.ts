import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
	formatMarker,
	generateRunId,
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
	type Marker,
	markerOf,
	ProcessKiller,
	type StartedProcess,
	SystemProcessHost,
	systemClock,
	systemRandom,
} from "@snakepit/core/infrastructure";
import { OrphanSweep } from "../../../packages/core/src/worker/orphan-sweep.ts";
import {
	startWatchdog,
	type WatchdogProcess,
} from "../../../packages/watchdog/src/watchdog/watchdog-process.ts";
import { type Strangers, untilDead } from "./strangers.ts";

const AT_ONCE = 8;
const machine = new SystemProcessHost();

/** One recycling of some workers: which number of them were reused is known to the strangers. */
export type Scene = (strangers: Strangers) => Promise<void>;

/** A child whose end Node tells before that of every child which was started after it. */
function firstChild(): ChildProcess {
	return spawn("sleep", ["1000"], { stdio: "ignore" });
}

function workers(count: number): Promise<readonly StartedProcess[]> {
	const marker = formatMarker(
		markerOf(generateRunId(Date.now(), systemRandom), machine.self, "recycled"),
	);
	return Promise.all(
		Array.from({ length: count }, (_, n) =>
			machine.source.start(
				{
					executable: "sleep",
					args: ["1000"],
					env: {
						...environment(),
						[MARKER_VARIABLE]: marker,
						[INCARNATION_VARIABLE]: `${marker.slice(0, 7)}-${n}`,
					},
					cwd: undefined,
					stdin: "empty",
					control: false,
				},
				() => {},
			),
		),
	);
}

function environment(): Record<string, string> {
	return {
		PATH: process.env["PATH"] ?? "",
		CHAOS_STAGE: process.env["CHAOS_STAGE"] ?? "",
	};
}

/**
 * Ends children together, and lets strangers have their numbers when libuv has
 * reaped all of them and told of the first.
 */
async function recycleTogether(
	strangers: Strangers,
	start: () => Promise<{ pids: readonly number[]; ended: Promise<unknown> }>,
	reused: () => void,
): Promise<void> {
	const first = firstChild();
	const { pids, ended } = await start();
	first.once("exit", () => {
		strangers.take(pids);
		reused();
	});
	const letGo = machine.keepAlive();
	const all = [first.pid ?? -1, ...pids];
	for (const pid of all) process.kill(pid, "SIGKILL");
	// None is reaped in this turn, and all of them in the next.
	untilDead(all);
	await Promise.all([once(first, "exit"), ended]);
	letGo();
}

async function startWorkers() {
	const started = await workers(AT_ONCE);
	return {
		started,
		pids: started.map(({ identity }) => identity.pid),
		ended: Promise.all(started.map(({ exited }) => exited)),
	};
}

/** What a stop ladder does with the group of a worker whose end was told. */
export const sweptAfterTheExit: Scene = async (strangers) => {
	let started: readonly StartedProcess[] = [];
	await recycleTogether(
		strangers,
		async () => {
			const all = await startWorkers();
			started = all.started;
			return all;
		},
		() => {},
	);
	for (const worker of started) {
		worker.signal("SIGKILL", "group");
		worker.signal("SIGKILL", "process");
	}
};

/** A deadline passes after the reap and before the exit is told. */
export const signalledBeforeTheExit: Scene = async (strangers) => {
	let started: readonly StartedProcess[] = [];
	await recycleTogether(
		strangers,
		async () => {
			const all = await startWorkers();
			started = all.started;
			return all;
		},
		() => {
			for (const worker of started) {
				worker.signal("SIGTERM", "group");
				worker.signal("SIGKILL", "process");
			}
		},
	);
};

/** A start fails while its process is dead and not reaped: the number cannot be taken. */
export const failedStart: Scene = async (strangers) => {
	let taken = 0;
	for (let n = 0; n < AT_ONCE; n++)
		await machine.source
			.start(
				{
					executable: "true",
					args: [],
					env: environment(),
					cwd: undefined,
					stdin: "empty",
					control: false,
				},
				({ pid }) => {
					untilDead([pid]);
					taken += strangers.tryToTake([pid]);
					throw new Error("not recorded");
				},
			)
			.catch(() => {});
	if (taken > 0) throw new Error(`${taken} numbers of zombies were taken.`);
	// Nothing can be reused here; that it was tried is what counts.
	strangers.recycled += AT_ONCE;
};

/** A watchdog process is ended by its host. */
export const watchdogsKilled: Scene = async (strangers) => {
	let watchdogs: readonly WatchdogProcess[] = [];
	await recycleTogether(
		strangers,
		async () => {
			watchdogs = Array.from({ length: AT_ONCE }, () => startWatchdog());
			await Promise.all(watchdogs.map(({ ready }) => ready));
			return {
				pids: watchdogs.map(({ pid }) => pid),
				ended: Promise.all(watchdogs.map(({ exited }) => exited)),
			};
		},
		() => {
			for (const watchdog of watchdogs) watchdog.kill();
		},
	);
};

/** What the reaper, the auditor and the watchdog end processes with: they leave on SIGTERM, and the grace passes. */
export const killedAfterTheGrace: Scene = async (strangers) => {
	const killer = new ProcessKiller(machine, systemClock);
	let ended: Promise<unknown> = Promise.resolve();
	await recycleTogether(
		strangers,
		async () => {
			const all = await startWorkers();
			const targets = all.started.map(({ identity, groupId }) => ({
				identity,
				wholeGroup: groupId,
			}));
			ended = killer.end(() => targets, { graceMs: 30, deadlineMs: 60 });
			return all;
		},
		() => {},
	);
	await ended;
};

/** Between the look for markers and the signal. */
export const orphansSwept: Scene = async (strangers) => {
	const runId = generateRunId(Date.now(), systemRandom);
	const marker: Marker = markerOf(runId, machine.self, "recycled");
	const incarnation = `${runId}-1`;
	const pids = strangers.spawn(AT_ONCE, {
		...environment(),
		[MARKER_VARIABLE]: formatMarker(marker),
		[INCARNATION_VARIABLE]: incarnation,
	});
	const unlike = (): number =>
		machine.marked().filter((each) => each.marker.runId === runId).length;
	while (unlike() < AT_ONCE) await new Promise(setImmediate);
	let looks = 0;
	const host = new Proxy(machine, {
		get: (target, name) => {
			const value = Reflect.get(target, name, target) as unknown;
			if (typeof value !== "function") return value;
			if (name !== "marked") return value.bind(target);
			return () => {
				const found = machine.marked();
				if (looks++ === 0) strangers.replace(pids);
				return found;
			};
		},
	});
	const sweep = new OrphanSweep({
		host,
		clock: systemClock,
		random: systemRandom,
		source: machine.source,
		registry: { runId } as never,
		emit: () => {},
	});
	sweep.noteEnded(incarnation);
	sweep.finish();
	if (looks === 0) throw new Error("It did not look.");
};
