import type { Incident } from "./incident.ts";

type Killed = Extract<Incident, { type: "protection.process_killed" }>;
/** What a process is known by; without its start time in what an older guard wrote. */
export type ToldProcess = Pick<Killed, "pid" | "startTime">;
type Settled = Extract<Incident, { type: "protection.run_settled" }>;

/**
 * Joins what several processes of one protection wrote about the same run, in
 * the order in which it happened: they work side by side where one of them is
 * slow, and each writes what it did itself. One death is seen first by one of
 * them, a process dies once, and the run is settled when the last one is done.
 */
export function joinIncidents(
	incidents: readonly Incident[],
): readonly Incident[] {
	const inOrder = incidents.toSorted((a, b) => a.wallMs - b.wallMs);
	const killed = onceEach(inOrder.filter(isKilled));
	const death = inOrder.find(
		({ type }) => type === "protection.host_death_detected",
	);
	return [
		...(death === undefined ? [] : [death]),
		...killed,
		...settled(inOrder, killed.length),
	];
}

/**
 * Joins what several protections did after the same death: a process dies once,
 * and is told by the one that came first.
 *
 * @param told processes whose end is told without them.
 */
export function joinProtections(
	incidents: readonly Incident[],
	told: readonly ToldProcess[],
): readonly Incident[] {
	const inOrder = incidents.toSorted((a, b) => a.wallMs - b.wallMs);
	const before = inOrder.filter(isKilled);
	const known = new Set(told.map(keyOf));
	const after = onceEach(before).filter((each) => !known.has(keyOf(each)));
	const countOf = (all: readonly Killed[], protection: string): number =>
		all.filter((each) => each.protection === protection).length;
	const others = inOrder.flatMap((incident): readonly Incident[] => {
		if (isKilled(incident)) return [];
		if (!isSettled(incident)) return [incident];
		const { protection, killed } = incident;
		// Of those that were not named nobody knows whether another told them.
		const left = countOf(before, protection) - countOf(after, protection);
		return [{ ...incident, killed: killed - left }];
	});
	return [...others, ...after].sort((a, b) => a.wallMs - b.wallMs);
}

/** How many processes of these nobody told otherwise. */
export function countKilled(
	incidents: readonly Incident[],
	told: readonly ToldProcess[],
): number {
	const known = new Set(told.map(keyOf));
	return incidents.filter(
		(incident) => isKilled(incident) && !known.has(keyOf(incident)),
	).length;
}

/** The first that was told of each process, with the name that any of them knows. */
function onceEach(inOrder: readonly Killed[]): readonly Killed[] {
	const killed = new Map<string, Killed>();
	for (const incident of inOrder) {
		const key = keyOf(incident);
		const known = killed.get(key);
		if (known === undefined) killed.set(key, incident);
		else if (known.incarnation === undefined)
			killed.set(key, { ...known, incarnation: incident.incarnation });
	}
	return [...killed.values()];
}

function settled(
	inOrder: readonly Incident[],
	named: number,
): readonly Incident[] {
	const all = inOrder.filter(isSettled);
	const last = all.at(-1);
	if (last === undefined) return [];
	// Not every one is named where there were very many.
	const killed = Math.max(named, ...all.map(({ killed }) => killed));
	return [{ ...last, killed }];
}

export function isKilled(incident: Incident): incident is Killed {
	return incident.type === "protection.process_killed";
}

function isSettled(incident: Incident): incident is Settled {
	return incident.type === "protection.run_settled";
}

function keyOf({ pid, startTime }: ToldProcess): string {
	return `${pid} ${startTime}`;
}
