import type { Random } from "./clock.ts";

/**
 * What makes a process this one and no other: a pid alone is reused.
 *
 * All fields are compared as text or number, never interpreted.
 */
export interface ProcessIdentity {
	/** The machine, as its operating system names itself. */
	readonly machineId: string;
	/** This boot of the machine. */
	readonly bootId: string;
	/** The pid namespace, `"0"` where the system has none. */
	readonly pidNamespace: string;
	readonly pid: number;
	/**
	 * When the process started: clock ticks since boot on Linux, elsewhere the
	 * start time that `ps` prints.
	 */
	readonly startTime: string;
}

/** How a recorded identity relates to what is seen now; see {@link compareIdentity}. */
type IdentityVerdict =
	/** The very process that was recorded. */
	| "same"
	/** That process is over: the pid is free, or another process has it, or the machine was restarted. */
	| "gone"
	/** Not decidable from here: another machine, another pid namespace, or facts could not be read. */
	| "unknown";

/** How a process ended: by itself with a code, or by a signal. */
export type ProcessExit =
	| { readonly kind: "code"; readonly code: number }
	| { readonly kind: "signal"; readonly signal: NodeJS.Signals };

/** How a child of Node has ended, from the arguments of its event `exit`. */
export function processExit(
	code: number | null,
	signal: NodeJS.Signals | null,
): ProcessExit {
	return signal === null
		? { kind: "code", code: code ?? 0 }
		: { kind: "signal", signal };
}

/** What a look at one pid showed. */
export type Observation = ProcessIdentity | "gone" | "unknown";

/**
 * Decides whether the process that was recorded still lives.
 *
 * `self` is the identity of the process that looks; `observed` what it saw at
 * the recorded pid. Unknown is neither "gone" nor "ours": it must be reported
 * and left alone.
 */
export function compareIdentity(
	recorded: ProcessIdentity,
	self: ProcessIdentity,
	observed: Observation,
): IdentityVerdict {
	if (recorded.machineId !== self.machineId) return "unknown";
	if (recorded.bootId !== self.bootId) return "gone";
	if (recorded.pidNamespace !== self.pidNamespace) return "unknown";
	if (observed === "gone" || observed === "unknown") return observed;
	return observed.pid === recorded.pid &&
		observed.startTime === recorded.startTime
		? "same"
		: "gone";
}

/** Names a process among those of one boot and one pid namespace: its pid alone may be another's at the next look. */
export function processKey({
	pid,
	startTime,
}: Pick<ProcessIdentity, "pid" | "startTime">): string {
	return `${pid} ${startTime}`;
}

/** Whether two identities name the same process. */
export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
	return (
		a.pid === b.pid &&
		a.startTime === b.startTime &&
		a.pidNamespace === b.pidNamespace &&
		a.bootId === b.bootId &&
		a.machineId === b.machineId
	);
}

/** Whether a process may live: it was seen with its pid, or what has its pid cannot be read. */
export function mayLive(
	identity: ProcessIdentity,
	observation: Observation,
): boolean {
	return (
		observation === "unknown" ||
		(observation !== "gone" && isSameProcess(observation, identity))
	);
}

/**
 * Names one life of a host: seven lower-case base-36 characters, five of the
 * time in seconds and two of chance.
 *
 * Short enough to be read in `ps`. Not unique by itself: the registry makes it
 * so by creating the run's file exclusively and drawing again on a collision.
 */
export type RunId = string & { readonly __brand: "RunId" };

const TIME_DIGITS = 5;
const CHANCE_DIGITS = 2;
const TIME_CYCLE = 36 ** TIME_DIGITS;
const CHANCE_RANGE = 36 ** CHANCE_DIGITS;
/** So many seconds may a clock have been ahead. */
const FUTURE = 24 * 60 * 60;
const PATTERN = /^[0-9a-z]{7}$/;

/**
 * Draws a run id.
 *
 * @param wallMs milliseconds since the Unix epoch; the time part repeats after
 *   36⁵ seconds (1.9 years).
 */
export function generateRunId(wallMs: number, random: Random): RunId {
	const seconds = Math.floor(wallMs / 1000) % TIME_CYCLE;
	const chance = Math.floor(random.fraction() * CHANCE_RANGE);
	return (seconds.toString(36).padStart(TIME_DIGITS, "0") +
		chance.toString(36).padStart(CHANCE_DIGITS, "0")) as RunId;
}

/**
 * When a run id was drawn, in milliseconds since the Unix epoch and to the
 * second: the last such moment before `nowMs`, since the time part repeats.
 */
export function generatedAt(runId: RunId, nowMs: number): number {
	const now = Math.floor(nowMs / 1000);
	const part = Number.parseInt(runId.slice(0, TIME_DIGITS), 36);
	const sinceThen = (now - part) % TIME_CYCLE;
	// A clock that was set back leaves ids of the future: they are the newest.
	const ago = sinceThen > TIME_CYCLE - FUTURE ? 0 : sinceThen;
	return (now - ago) * 1000;
}

/** Whether `text` has the form of a run id. */
export function isRunId(text: string): text is RunId {
	return PATTERN.test(text);
}

/**
 * The environment variable that every worker carries and its children inherit,
 * so that descendants which left the process group can still be found.
 *
 * Evidence, not proof: a program can overwrite or clear it.
 */
export const MARKER_VARIABLE = "SNAKEPIT_RUN";

/** The environment variable beside the marker that names the incarnation a process descends from. */
export const INCARNATION_VARIABLE = "SNAKEPIT_WORKER";

/** The environment variable of a guard: the marker of the run that it guards. No worker inherits it. */
export const GUARD_VARIABLE = "SNAKEPIT_GUARD";

/** What the marker contains: which run, of which host process, in which data directory. */
export interface Marker {
	readonly runId: RunId;
	/** Names the data directory of the run; see `LedgerDirectory.key`. */
	readonly directoryKey: string;
	readonly bootId: string;
	readonly pidNamespace: string;
	readonly hostPid: number;
	readonly hostStartTime: string;
}

/** The marker of the run `runId` whose host is `host`, in the data directory that `directoryKey` names. */
export function markerOf(
	runId: RunId,
	host: ProcessIdentity,
	directoryKey: string,
): Marker {
	return {
		runId,
		directoryKey,
		bootId: host.bootId,
		pidNamespace: host.pidNamespace,
		hostPid: host.pid,
		hostStartTime: host.startTime,
	};
}

/** Whether a marker is of the run `runId` whose host is `host`: another data directory may have the same run id. */
export function isMarkerOf(
	marker: Marker,
	runId: RunId,
	host: ProcessIdentity,
): boolean {
	return (
		marker.runId === runId &&
		marker.bootId === host.bootId &&
		marker.pidNamespace === host.pidNamespace &&
		marker.hostPid === host.pid &&
		marker.hostStartTime === host.startTime
	);
}

/** Writes a marker as the value of {@link MARKER_VARIABLE}: six fields, `:` between them. */
export function formatMarker(marker: Marker): string {
	return [
		marker.runId,
		marker.directoryKey,
		marker.bootId,
		marker.pidNamespace,
		marker.hostPid,
		encodeURIComponent(marker.hostStartTime),
	].join(":");
}

/** Reads a marker; `undefined` when `text` is not one. */
export function parseMarker(text: string): Marker | undefined {
	const fields = text.split(":");
	const [runId, directoryKey, bootId, pidNamespace, pid, startTime] = fields;
	if (
		fields.length !== 6 ||
		!runId ||
		!directoryKey ||
		!bootId ||
		!pidNamespace ||
		!pid ||
		!startTime
	)
		return undefined;
	if (!isRunId(runId) || !/^[1-9][0-9]{0,9}$/.test(pid)) return undefined;
	try {
		return {
			runId,
			directoryKey,
			bootId,
			pidNamespace,
			hostPid: Number(pid),
			hostStartTime: decodeURIComponent(startTime),
		};
	} catch {
		return undefined; // A malformed percent escape: not ours.
	}
}

/** A process that holds a group's number: it has the number as its pid, or is a member of the group. */
interface GroupHolder {
	readonly identity: ProcessIdentity;
}

/** Whose group has a number now. */
export type GroupVerdict<Holder extends GroupHolder> =
	/** The group of the leader that is asked about: `prover` proves it, and is read again before a signal is sent. */
	| { readonly whose: "ours"; readonly prover: Holder }
	/** Another process has the leader's pid: the number was given away, and no member is ours. */
	| { readonly whose: "anothers" }
	/** The leader is gone, and nothing proves that one of the others belonged to it. */
	| { readonly whose: "unknown" }
	/** No process holds the number. */
	| { readonly whose: "nobodys" };

/**
 * Decides whether the group with a leader's number is still that leader's.
 *
 * The kernel gives a number to no new process while any process has it as its
 * pid, group or session. So one holder that is proven proves every member, and
 * one process that has the leader's pid and another start time disproves all.
 *
 * Source: alloc_pid and free_pid in kernel/pid.c of Linux.
 *
 * @param holders every process that holds the number at one look, dead ones that were not reaped included.
 * @param isProven whether a holder that is not the leader provably belongs to the leader's group.
 */
export function judgeGroup<Holder extends GroupHolder>(
	leader: ProcessIdentity,
	holders: readonly Holder[],
	isProven: (holder: Holder) => boolean,
): GroupVerdict<Holder> {
	const atItsPid = holders.find(({ identity }) => identity.pid === leader.pid);
	if (atItsPid !== undefined)
		return isSameProcess(atItsPid.identity, leader)
			? { whose: "ours", prover: atItsPid }
			: { whose: "anothers" };
	const prover = holders.find(isProven);
	if (prover !== undefined) return { whose: "ours", prover };
	return { whose: holders.length === 0 ? "nobodys" : "unknown" };
}
