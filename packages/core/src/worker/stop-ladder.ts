import type { Connection } from "../adapter.ts";
import type { SnakepitEvent, WorkerRef } from "../events.ts";
import { isSameProcess } from "../identity.ts";
import type { RunId } from "../run-id.ts";
import type { Clock, ProcessHost, StartedProcess } from "../world.ts";

/** What the ladder needs of the world and of the worker. */
export interface StopTarget {
	readonly ref: WorkerRef;
	readonly runId: RunId;
	readonly process: StartedProcess;
	/** `undefined` while the worker is not connected. */
	readonly connection: Connection | undefined;
}

export type StopManner =
	/** From the gentlest rung on. */
	| "gentle"
	/** Kill at once. */
	| "forced";

/**
 * Ends one worker process and its group: leave, then SIGTERM, then SIGKILL, then
 * a last look at the group; each rung has its share of the one deadline, and is
 * recorded. Descendants that left the group are looked for by marker elsewhere.
 *
 * Resolves when the process is gone and its group is empty, or was told to die
 * and cannot (a process in uninterruptible sleep).
 *
 * @returns whether a signal was needed.
 */
export async function stopWorker(
	target: StopTarget,
	manner: StopManner,
	killAfterMs: number,
	world: {
		readonly clock: Clock;
		readonly host: ProcessHost;
		readonly emit: (event: SnakepitEvent) => void;
	},
): Promise<{ readonly signalled: boolean }> {
	const { process } = target;
	const step = (
		name: "leave" | "terminate" | "kill" | "sweep",
		sent: number,
	): void =>
		world.emit({
			type: "worker.stop_step",
			wallMs: world.clock.wall(),
			...target.ref,
			step: name,
			sent,
		});
	let signalled = false;

	if (manner === "gentle") {
		// Half of the time belongs to the conversation, half to SIGTERM.
		const half = killAfterMs / 2;
		if (target.connection?.leave !== undefined) {
			step("leave", 0);
			const deadline = new AbortController();
			target.connection.leave(deadline.signal).catch(() => {}); // A conversation that is broken cannot leave; SIGTERM follows.
			const left = await goneWithin(process, half, world.clock);
			deadline.abort();
			if (left) return { signalled: sweep() };
		}
		signalled = process.signal("SIGTERM", "group") === "sent";
		step("terminate", signalled ? 1 : 0);
		if (await goneWithin(process, half, world.clock))
			return { signalled: sweep() || signalled };
	}
	const killed = process.signal("SIGKILL", "group");
	step("kill", killed === "sent" ? 1 : 0);
	await goneWithin(process, KILL_PATIENCE_MS, world.clock);
	sweep();
	return { signalled: true };

	/** The leader is gone: whoever is still in the group was left behind by it. */
	function sweep(): boolean {
		const left = world.host
			.members(process.groupId)
			.filter((member) => !isSameProcess(member.identity, process.identity));
		if (left.length === 0) return false;
		const sent = process.signal("SIGKILL", "group");
		step("sweep", sent === "sent" ? left.length : 0);
		return sent === "sent";
	}
}

/** SIGKILL takes effect at once, but for a process in uninterruptible sleep: that is reported, never waited for. */
const KILL_PATIENCE_MS = 5_000;

/** Whether the process ends within the time. */
export async function goneWithin(
	process: StartedProcess,
	ms: number,
	clock: Clock,
): Promise<boolean> {
	return await new Promise<boolean>((resolve) => {
		const timer = clock.after(ms, () => resolve(false));
		void process.exited.then(() => {
			timer.cancel();
			resolve(true);
		});
	});
}
