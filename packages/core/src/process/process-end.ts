import { CloseError } from "../contract/errors.ts";
import {
	mayLive,
	type ProcessExit,
	type ProcessIdentity,
} from "../contract/identity.ts";
import type { Killer, WorkerRecord } from "../contract/process-registry.ts";
import type { ProcessHost, StartedProcess } from "../contract/world.ts";

/** How a process ended, as part of a sentence. */
export function describeExit(exit: ProcessExit | undefined): string {
	if (exit === undefined) return "was sent SIGKILL and is still there";
	return exit.kind === "code"
		? `exited with code ${exit.code}`
		: `was ended by ${exit.signal}`;
}

/** A signal that reached a worker, and which part of this program sent it. */
export interface SentSignal {
	readonly signal: NodeJS.Signals;
	readonly by: Extract<Killer, "stop_ladder" | "application_cleanup">;
}

/** What the kernel sends to a program that did something wrong. Source: signal(7). */
const OWN_FAULTS: ReadonlySet<NodeJS.Signals> = new Set([
	"SIGSEGV",
	"SIGBUS",
	"SIGILL",
	"SIGFPE",
	"SIGABRT",
	"SIGTRAP",
	"SIGSYS",
	"SIGPIPE",
	"SIGXCPU",
	"SIGXFSZ",
	"SIGALRM",
]);

/**
 * Who ended a worker: by how it ended, and not only by what was sent to it. A
 * signal may come too late for a process that was ending by itself.
 *
 * @param exit `undefined` when it was sent SIGKILL and is still there.
 * @param sent in the order in which it was sent.
 * @param lostParent what had forked it, where that was lost: then nothing but its loss sent SIGKILL.
 */
export function killerOf(
	exit: ProcessExit | undefined,
	sent: readonly SentSignal[],
	lostParent?: Killer,
): Killer {
	if (exit === undefined) return sent.at(-1)?.by ?? "none";
	if (exit.kind === "code") {
		// It ended by itself, perhaps because of SIGTERM. SIGKILL leaves no code.
		const asked = sent.find(({ signal }) => signal === "SIGTERM");
		return asked?.by ?? "none";
	}
	const sender = sent.find(({ signal }) => signal === exit.signal);
	if (sender !== undefined) return sender.by;
	if (exit.signal === "SIGKILL" && lostParent !== undefined) return lostParent;
	// A person, another program, or the kernel that needs memory: which one cannot be found out.
	return OWN_FAULTS.has(exit.signal) ? "none" : "unknown";
}

/**
 * Who ended a process, where its end alone does not say that: the kernel may say that it did, because memory had run out.
 *
 * @param killer as {@link killerOf} has found out.
 */
export async function killerByKernel(
	killer: Killer,
	exit: ProcessExit | undefined,
	identity: ProcessIdentity,
	host: Pick<ProcessHost, "killedForMemory">,
): Promise<{
	readonly killer: Killer;
	readonly evidence?: string;
	/** What is known of a killer that is not known. */
	readonly note?: string;
}> {
	const isOpen =
		killer === "unknown" &&
		exit?.kind === "signal" &&
		exit.signal === "SIGKILL";
	if (!isOpen) return { killer };
	const kill = await host.killedForMemory(identity, "own");
	if (kill === undefined) return { killer };
	return kill.kind === "none"
		? { killer, note: "not by the kernel for memory" }
		: { killer: "out_of_memory", evidence: kill.evidence };
}

/** What had forked a process, where that is lost, and the process ends with it. */
export function lostParentOf({
	source,
	isParentLost,
}: Pick<StartedProcess, "source" | "isParentLost">): Killer | undefined {
	if (isParentLost !== true) return undefined;
	return source === "preload" ? "preloaded_parent" : "guard";
}

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
		const lives = mayLive(identity, host.observe(identity.pid));
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
