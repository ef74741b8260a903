import type { Pool, WorkerView } from "@snakepit/core";
import { counted, duration } from "./figures.ts";
import type { Tools } from "./gen/digits.ts";

/** How a worker was killed, and came back. */
export interface Healing {
	readonly workerId: string;
	readonly killedPid: number;
	readonly newPid: number;
	/** From the signal until the new process could take calls. */
	readonly durationMs: number;
}

const PATIENCE_MS = 60_000;

/** Kills one worker with SIGKILL while it runs a call, and waits for the process that takes its place. */
export async function killOneWorker(
	pool: Pool<Tools>,
	say: (line: string) => void,
): Promise<Healing> {
	const victim = chooseVictim(pool.workers());
	if (victim?.pid === undefined) throw new Error("No worker is there to kill.");
	const { workerId, pid, callsRunning } = victim;
	const back = Promise.withResolvers<number>();
	const stopListening = pool.on("worker.ready", (event) => {
		if (event.workerId === workerId) back.resolve(event.pid);
	});
	// Also keeps the program alive: an idle pool does not.
	const tooLate = setTimeout(() => {
		back.reject(
			new Error(
				`${workerId} was killed, and is not back after ${PATIENCE_MS / 1_000} s.`,
			),
		);
	}, PATIENCE_MS);
	try {
		const killedAtMs = performance.now();
		process.kill(pid, "SIGKILL");
		say(
			`killed ${workerId}, pid ${pid}, with SIGKILL in the middle of ${counted(callsRunning, "call")}`,
		);
		const newPid = await back.promise;
		const durationMs = performance.now() - killedAtMs;
		const pingMs = await pool.ping(workerId);
		if (pingMs === undefined)
			throw new Error(
				`${workerId} is back as pid ${newPid}, but does not answer.`,
			);
		say(
			`${workerId} is back, pid ${newPid}: answers a ping after ${duration(pingMs)}`,
		);
		return { workerId, killedPid: pid, newPid, durationMs };
	} finally {
		clearTimeout(tooLate);
		stopListening();
	}
}

/** A worker in the middle of a call; any that is ready where none is. */
export function chooseVictim(
	workers: readonly WorkerView[],
): WorkerView | undefined {
	const ready = workers.filter(({ state }) => state === "ready");
	return ready.find(({ callsRunning }) => callsRunning > 0) ?? ready[0];
}
