import { CloseError } from "../contract/errors.ts";
import { isSameProcess } from "../contract/identity.ts";
import type { WorkerRecord } from "../contract/process-registry.ts";
import type { ProcessHost } from "../contract/world.ts";

/** A process that was to end and lives. */
export interface Survivor {
	readonly pid: number;
	/** For people: `worker p-0`. */
	readonly name: string;
}

/** A worker that did not end, or was not seen to end. */
export type Undying = Pick<WorkerRecord, "identity" | "workerId">;

/** The processes of these that live here. What cannot be read is not gone. */
export function survivorsOf(
	rows: readonly Undying[],
	host: Pick<ProcessHost, "self" | "observe">,
): readonly Survivor[] {
	return rows.flatMap(({ identity, workerId }) => {
		const isHere =
			identity?.machineId === host.self.machineId &&
			identity.pidNamespace === host.self.pidNamespace;
		if (!isHere) return [];
		const seen = host.observe(identity.pid);
		const lives =
			seen === "unknown" || (seen !== "gone" && isSameProcess(seen, identity));
		return lives ? [{ pid: identity.pid, name: nameOf(workerId) }] : [];
	});
}

/** A job's begins so. */
function nameOf(workerId: string): string {
	return workerId.startsWith("job-") ? workerId : `worker ${workerId}`;
}

/** What a close says that could not end everything. */
export function stillThere(
	what: string,
	survivors: readonly Survivor[],
): CloseError {
	const names = survivors.map(({ pid, name }) => `${name} (pid ${pid})`);
	return new CloseError({
		code: "STILL_THERE",
		ran: "maybe",
		message: `${what} was closed, and of its processes ${names.join(", ")} ${names.length === 1 ? "is" : "are"} still there: SIGKILL was sent and did not end ${names.length === 1 ? "it" : "them"}, or the system refused it. ps -o pid,stat,wchan:30,user,args -p ${survivors.map(({ pid }) => pid).join(",")} shows what holds them: state D is a wait for a device or a network file system. The next start of a program looks again.`,
		stillThere: survivors.map(({ pid }) => pid),
	});
}
