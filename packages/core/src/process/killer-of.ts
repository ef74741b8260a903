import type { ProcessExit } from "../contract/identity.ts";
import type { Killer } from "../contract/process-registry.ts";
import type { StartedProcess } from "../contract/world.ts";

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

/** What had forked a process, where that is lost, and the process ends with it. */
export function lostParentOf({
	source,
	isParentLost,
}: Pick<StartedProcess, "source" | "isParentLost">): Killer | undefined {
	if (isParentLost !== true) return undefined;
	return source === "preload" ? "preloaded_parent" : "guard";
}
