import type { EventOf, SnakepitEvent } from "../contract/events.ts";
import type { RunId } from "../contract/identity.ts";
import type { RecordedError } from "../contract/process-registry.ts";
import { recordedError } from "../contract/recorded-error.ts";
import { withFallback } from "../contract/thrown.ts";

/**
 * What a protection saw and did while no host lived. It is kept in the run's
 * file until the next start reports it, with the time at which it happened.
 */
export type Incident = EventOf<
	| "protection.host_death_detected"
	| "protection.process_killed"
	| "protection.run_settled"
>;

/** Distinguishes a process of a run from every other one, even later. */
interface ProcessKey {
	readonly pid: number;
	readonly startTime: string;
}

/**
 * Returns which worker a process was, or descends from.
 *
 * @param line the process, and what it hung on where that was written down, the nearest first.
 * @param written the name that a protection gave it, which knows only the processes that it forked itself.
 */
export type Naming = (
	line: readonly ProcessKey[],
	written: string | undefined,
) => string | undefined;

/** A longer one is not an incident of ours. */
export const INCIDENT_LIMIT_BYTES = 4_096;

const PROTECTION_NAME = /^[a-z][a-z0-9-]{0,39}$/;
const INCARNATION = /^[0-9a-z]{7}-[0-9]{1,15}$/;
const START_TIME = /^[\x20-\x7e]{1,64}$/;
const FOUND_BY = ["reported", "ledger", "group", "marker", "descent"] as const;
const SIGNALS = ["SIGTERM", "SIGKILL"] as const;

/**
 * Reads one incident of the run `ofRun` from JSON; `undefined` when `text` is
 * not exactly that. What is not known is left out.
 *
 * @param naming returns which worker it was; by default as it is written.
 */
export function parseIncident(
	text: string,
	ofRun: RunId,
	naming: Naming = (_line, written) => written,
): Incident | undefined {
	if (Buffer.byteLength(text) > INCIDENT_LIMIT_BYTES) return undefined;
	const fields = parseObject(text);
	if (fields === undefined) return undefined;
	const { type, wallMs, protection } = fields;
	if (!isAmount(wallMs) || !isName(protection)) return undefined;
	if (fields["ofRun"] !== ofRun) return undefined;
	const common = { wallMs, protection, ofRun };
	switch (type) {
		case "protection.host_death_detected": {
			const { pid, detectionMs } = fields;
			if (pid !== undefined && !isCount(pid)) return undefined;
			if (detectionMs !== undefined && !isAmount(detectionMs)) return undefined;
			return { type, ...common, pid, detectionMs };
		}
		case "protection.process_killed":
			return killed(fields, common, naming);
		case "protection.run_settled": {
			const { killed, durationMs } = fields;
			if (!isCount(killed) || !isAmount(durationMs)) return undefined;
			return { type, ...common, killed, durationMs };
		}
		default:
			return undefined;
	}
}

function killed(
	fields: Readonly<Record<string, unknown>>,
	common: Pick<Incident, "wallMs" | "protection" | "ofRun">,
	naming: Naming,
): Incident | undefined {
	const { pid, startTime, incarnation, below, foundBy, signal } = fields;
	const how = FOUND_BY.find((word) => word === foundBy);
	if (!isCount(pid) || how === undefined) return undefined;
	const sent = SIGNALS.find((word) => word === signal);
	if (signal !== undefined && sent === undefined) return undefined;
	const isKnown = typeof incarnation === "string";
	if (isKnown && !INCARNATION.test(incarnation)) return undefined;
	if (startTime !== undefined && !isStartTime(startTime)) return undefined;
	const above: readonly unknown[] = Array.isArray(below) ? below : [];
	const line = [fields, ...above].filter(isProcessKey);
	return {
		type: "protection.process_killed",
		...common,
		pid,
		startTime,
		incarnation: naming(line, isKnown ? incarnation : undefined),
		foundBy: how,
		signal: sent,
	};
}

/** Reads a JSON object; `undefined` when `text` is none. */
export function parseObject(
	text: string,
): Readonly<Record<string, unknown>> | undefined {
	return withFallback(undefined, () => {
		const value: unknown = JSON.parse(text);
		return typeof value === "object" && value !== null
			? (value as Readonly<Record<string, unknown>>)
			: undefined;
	});
}

function isProcessKey(value: unknown): value is ProcessKey {
	if (typeof value !== "object" || value === null) return false;
	const { pid, startTime } = value as Readonly<Record<string, unknown>>;
	return isCount(pid) && isStartTime(startTime);
}

function isStartTime(value: unknown): value is string {
	return typeof value === "string" && START_TIME.test(value);
}

function isName(value: unknown): value is string {
	return typeof value === "string" && PROTECTION_NAME.test(value);
}

function isAmount(value: unknown): value is number {
	return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isCount(value: unknown): value is number {
	return isAmount(value) && Number.isSafeInteger(value);
}

const TYPES = [
	"heartbeat.hung",
	"pool.restart_budget_spent",
	"pool.start_failed",
	"audit.stray_found",
	"audit.stray_killed",
	"audit.stray_spared",
	"protection.ended",
	"protection.unavailable",
	"host.stood_still",
] as const;

/** What its host reported as an event, too. */
type HostIncidentEvent = EventOf<(typeof TYPES)[number]>;

/** The run could not be opened: no listener hears of that, and who asked for it gets the error. */
export interface OpenFailure {
	readonly type: "run.open_failed";
	readonly wallMs: number;
	readonly error: RecordedError;
}

/** What went wrong while the host of a run lived, as the ledger keeps it. */
export type HostIncident = Recorded<HostIncidentEvent> | OpenFailure;

type Recorded<Event> = Event extends { readonly error: Error }
	? Omit<Event, "error"> & { readonly error: RecordedError }
	: Event;

/** More of one run are not recorded: what goes wrong so often is known by then. */
export const HOST_INCIDENTS_LIMIT = 200;

/** Likewise of standstills: one that blocks its event loop again and again has room for what else goes wrong. */
export const STANDSTILLS_LIMIT = 50;

/** Those of a pool, and not of its run. */
export const POOL_INCIDENTS: readonly HostIncidentEvent["type"][] = [
	"heartbeat.hung",
	"pool.restart_budget_spent",
	"pool.start_failed",
];

/**
 * Returns the incident that an event is. The end of a protection is one where it was lost, and the failed start of a pool
 * where nobody closed it meanwhile.
 */
export function hostIncidentOf(event: SnakepitEvent): HostIncident | undefined {
	switch (event.type) {
		case "protection.ended":
			return event.how === "lost" ? event : undefined;
		case "pool.start_failed": {
			const error = recordedError(event.error);
			return error.code === "POOL_CLOSED" ? undefined : { ...event, error };
		}
		default:
			return isOther(event) ? event : undefined;
	}
}

function isOther(
	event: SnakepitEvent,
): event is Exclude<
	HostIncidentEvent,
	{ readonly type: "pool.start_failed" | "protection.ended" }
> {
	return isType(event.type);
}

/** Reads one from the ledger; `undefined` when `text` is none. */
export function parseHostIncident(text: string): HostIncident | undefined {
	const event = parseObject(text);
	const type = event?.["type"];
	const isKnown = isType(type) || type === "run.open_failed";
	return isKnown && typeof event?.["wallMs"] === "number"
		? (event as unknown as HostIncident)
		: undefined;
}

const ACT_TYPES = [
	"pool.paused",
	"pool.resumed",
	"pool.resized",
	"pool.recycle_requested",
	"pool.restart_requested",
	"pool.closing",
	"pool.close_hurried",
	"control.requested",
] as const;

/** What somebody asked of a pool, and who: the program itself, or a client of its control channel. */
export type Act = EventOf<(typeof ACT_TYPES)[number]>;

/** Of one run, so many of the last are recorded. */
export const ACTS_LIMIT = 200;

/** Those of a pool, and not of its run. */
export const POOL_ACTS: readonly Act["type"][] = ACT_TYPES.filter(
	(type) => type !== "control.requested",
);

/** Whether an event is an act. What a client asks for is one of its pool, too, but for a call. */
export function isAct(event: SnakepitEvent): event is Act {
	return event.type === "control.requested"
		? event.act === "call"
		: isActType(event.type);
}

/** Reads one from the ledger; `undefined` when `text` is none. */
export function parseAct(text: string): Act | undefined {
	const event = parseObject(text);
	return isActType(event?.["type"]) && typeof event?.["wallMs"] === "number"
		? (event as unknown as Act)
		: undefined;
}

function isActType(type: unknown): type is Act["type"] {
	return (ACT_TYPES as readonly unknown[]).includes(type);
}

/** What was asked of the pools of this run: the last in memory, and what of it is not in its file yet. */
export class NotedActs {
	readonly #all: Act[] = [];
	#unwritten: readonly Act[] = [];

	get all(): readonly Act[] {
		return this.#all;
	}

	get unwritten(): readonly Act[] {
		return this.#unwritten;
	}

	add(act: Act): void {
		this.#all.push(act);
		if (this.#all.length > ACTS_LIMIT) this.#all.shift();
		this.#unwritten = [...this.#unwritten, act].slice(-ACTS_LIMIT);
	}

	/** All of them are in the file now. */
	written(): void {
		this.#unwritten = [];
	}

	/** The file has lost everything. */
	rewrite(): void {
		this.#unwritten = [...this.#all];
	}
}

function isType(type: unknown): type is HostIncidentEvent["type"] {
	return (TYPES as readonly unknown[]).includes(type);
}

/** What went wrong in this run, in memory, and what of it is in its file. */
export class NotedIncidents {
	readonly #all: HostIncident[] = [];
	#standstills = 0;
	#written = 0;

	get all(): readonly HostIncident[] {
		return this.#all;
	}

	get unwritten(): readonly HostIncident[] {
		return this.#all.slice(this.#written);
	}

	/** Returns false when there are too many already. */
	add(incident: HostIncident): boolean {
		if (this.#all.length >= HOST_INCIDENTS_LIMIT) return false;
		if (incident.type === "host.stood_still") {
			if (this.#standstills >= STANDSTILLS_LIMIT) return false;
			this.#standstills++;
		}
		this.#all.push(incident);
		return true;
	}

	/** All of them are in the file now. */
	written(): void {
		this.#written = this.#all.length;
	}

	/** The file has lost everything. */
	rewrite(): void {
		this.#written = 0;
	}
}

type Killed = Extract<Incident, { type: "protection.process_killed" }>;
/** What identifies a killed process; older guards did not write its start time. */
export type KilledProcess = Pick<Killed, "pid" | "startTime">;

/**
 * Joins what several protections, or several processes of one, wrote about the
 * same death: they work side by side, and each writes what it did. Each
 * protection detects the death once, a process is killed once, by the first that
 * reports it, and a protection has settled the run when its last process has.
 *
 * @param reported processes whose end is reported without these incidents.
 */
export function joinIncidents(
	incidents: readonly Incident[],
	reported: readonly KilledProcess[] = [],
): readonly Incident[] {
	const inOrder = incidents.toSorted((a, b) => a.wallMs - b.wallMs);
	const known = new Set(reported.map(keyOf));
	const killed = onceEach(inOrder).filter((each) => !known.has(keyOf(each)));
	const others = [...new Set(inOrder.map(({ protection }) => protection))]
		.map((name) => ({
			own: inOrder.filter(({ protection }) => protection === name),
			remaining: killed.filter(({ protection }) => protection === name).length,
		}))
		.flatMap(({ own, remaining }) => [
			...own.filter(isDeath).slice(0, 1),
			...settledOnce(own, remaining),
		]);
	return [...others, ...killed].sort((a, b) => a.wallMs - b.wallMs);
}

/** How many of these processes are not reported otherwise. */
export function countKilled(
	incidents: readonly Incident[],
	reported: readonly KilledProcess[],
): number {
	const known = new Set(reported.map(keyOf));
	return incidents.filter(
		(incident) => isKilled(incident) && !known.has(keyOf(incident)),
	).length;
}

/** The first report about each process, with the name that any of them has. */
function onceEach(inOrder: readonly Incident[]): readonly Killed[] {
	const killed = new Map<string, Killed>();
	for (const incident of inOrder.filter(isKilled)) {
		const first = killed.get(keyOf(incident)) ?? incident;
		const incarnation = first.incarnation ?? incident.incarnation;
		killed.set(keyOf(incident), { ...first, incarnation });
	}
	return [...killed.values()];
}

/**
 * @param own what one protection wrote.
 * @param remaining how many of its processes no other incident reports.
 */
function settledOnce(
	own: readonly Incident[],
	remaining: number,
): readonly Incident[] {
	const all = own.filter(isSettled);
	const last = all.at(-1);
	if (last === undefined) return [];
	const named = onceEach(own).length;
	// Where there were very many, not all are named: those are not known from elsewhere either.
	const most = Math.max(named, ...all.map(({ killed }) => killed));
	return [{ ...last, killed: most - named + remaining }];
}

export function isKilled(incident: Incident): incident is Killed {
	return incident.type === "protection.process_killed";
}

function isDeath({ type }: Incident): boolean {
	return type === "protection.host_death_detected";
}

function isSettled(
	incident: Incident,
): incident is Extract<Incident, { type: "protection.run_settled" }> {
	return incident.type === "protection.run_settled";
}

function keyOf({ pid, startTime }: KilledProcess): string {
	return `${pid} ${startTime}`;
}
