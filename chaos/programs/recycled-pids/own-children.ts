import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	formatMarker,
	generateRunId,
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
	markerOf,
	ProcessKiller,
	type StartedProcess,
	SystemProcessHost,
	systemClock,
	systemRandom,
} from "@snakepit/core/infrastructure";
import { OrphanSweep } from "../../../packages/core/src/process/orphan-sweep.ts";
import { startWatchdog } from "../../../packages/watchdog/src/watchdog/watchdog-process.ts";
import { type Scene, type Strangers, untilDead } from "./strangers.ts";

const AT_ONCE = 8;
const machine = new SystemProcessHost();

function environment(): Record<string, string> {
	return {
		PATH: process.env["PATH"] ?? "",
		CHAOS_STAGE: process.env["CHAOS_STAGE"] ?? "",
	};
}

function newMarker(runId = generateRunId(Date.now(), systemRandom)) {
	return markerOf(runId, machine.self, "recycled");
}

function start(
	executable: string,
	args: readonly string[],
	env: Readonly<Record<string, string>>,
	record: (identity: { readonly pid: number }) => void = () => {},
): Promise<StartedProcess> {
	return machine.source.start(
		{
			...{ executable, args, cwd: undefined, stdin: "empty", control: false },
			env: { ...environment(), ...env },
		},
		record,
	);
}

interface Child {
	readonly pid: number;
	readonly exited: Promise<unknown>;
}

async function startWorkers() {
	const marker = formatMarker(newMarker());
	return await Promise.all(
		Array.from({ length: AT_ONCE }, async (_, n) => {
			const worker = await start("sleep", ["1000"], {
				[MARKER_VARIABLE]: marker,
				[INCARNATION_VARIABLE]: `${marker.slice(0, 7)}-${n}`,
			});
			return { pid: worker.identity.pid, exited: worker.exited, worker };
		}),
	);
}

/**
 * Ends children together, and gives their pids to foreign processes when libuv has reaped all of them and reported the
 * exit of the first.
 *
 * @param reused is called in that turn.
 */
async function recycleTogether<One extends Child>(
	strangers: Strangers,
	startAll: () => Promise<readonly One[]>,
	reused: (children: readonly One[]) => void = () => {},
): Promise<readonly One[]> {
	// Node reports its exit before that of every child which was started after it.
	const first = spawn("sleep", ["1000"], { stdio: "ignore" });
	const children = await startAll();
	const pids = children.map(({ pid }) => pid);
	first.once("exit", () => {
		strangers.take(pids);
		reused(children);
	});
	const release = machine.keepAlive();
	const all = [first.pid ?? -1, ...pids];
	for (const pid of all) process.kill(pid, "SIGKILL");
	// None is reaped in this turn, and all of them in the next.
	untilDead(all);
	await Promise.all([
		once(first, "exit"),
		...children.map(({ exited }) => exited),
	]);
	release();
	return children;
}

/** What a stop ladder does with the group of a worker whose exit was reported. */
export const sweptAfterTheExit: Scene = async (strangers) => {
	for (const { worker } of await recycleTogether(strangers, startWorkers)) {
		worker.signal("SIGKILL", "group");
		worker.signal("SIGKILL", "process");
	}
};

/** A deadline passes after the reap and before the exit is reported. */
export const signalledBeforeTheExit: Scene = async (strangers) => {
	await recycleTogether(strangers, startWorkers, (workers) => {
		for (const { worker } of workers) {
			worker.signal("SIGTERM", "group");
			worker.signal("SIGKILL", "process");
		}
	});
};

/** A start fails while its process is dead and not reaped: the pid cannot be taken. */
export const failedStart: Scene = async (strangers) => {
	let taken = 0;
	for (let n = 0; n < AT_ONCE; n++)
		await start("true", [], {}, ({ pid }) => {
			untilDead([pid]);
			taken += strangers.tryToTake([pid]);
			throw new Error("not recorded");
		}).catch(() => {});
	if (taken > 0) throw new Error(`${taken} pids of zombies were taken.`);
	// Nothing can be reused here; the attempts count.
	strangers.recycled += AT_ONCE;
};

/** A watchdog process is ended by its host. */
export const watchdogsKilled: Scene = async (strangers) => {
	await recycleTogether(
		strangers,
		async () => {
			const all = Array.from({ length: AT_ONCE }, () =>
				startWatchdog(process.execPath),
			);
			await Promise.all(all.map(({ ready }) => ready));
			return all;
		},
		(watchdogs) => {
			for (const watchdog of watchdogs) watchdog.kill();
		},
	);
};

/** What the reaper, the auditor and the watchdog end processes with: they exit on SIGTERM, and the grace passes. */
export const killedAfterTheGrace: Scene = async (strangers) => {
	const killer = new ProcessKiller(machine, systemClock);
	let ended: Promise<unknown> = Promise.resolve();
	await recycleTogether(strangers, async () => {
		const all = await startWorkers();
		const targets = all.map(({ worker }) => ({
			identity: worker.identity,
			wholeGroup: worker.groupId,
		}));
		ended = killer.end(() => targets, { graceMs: 30, deadlineMs: 60 });
		return all;
	});
	await ended;
};

/** Between the search for markers and the signal. */
export const orphansSwept: Scene = async (strangers) => {
	const { runId } = strangers;
	const marker = newMarker(runId);
	const incarnation = `${runId}-1`;
	const pids = strangers.spawn(AT_ONCE, {
		...environment(),
		[MARKER_VARIABLE]: formatMarker(marker),
		[INCARNATION_VARIABLE]: incarnation,
	});
	const marked = (): number =>
		machine.marked().filter((each) => each.marker.runId === runId).length;
	while (marked() < AT_ONCE) await new Promise(setImmediate);
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
