import type { Incident } from "./incident.ts";

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
