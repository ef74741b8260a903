import type { Incident } from "./incident.ts";

type Killed = Extract<Incident, { type: "protection.process_killed" }>;

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
	const killed = new Map<number, Killed>();
	for (const incident of inOrder) {
		if (incident.type !== "protection.process_killed") continue;
		const known = killed.get(incident.pid);
		if (known === undefined) killed.set(incident.pid, incident);
		else if (known.incarnation === undefined)
			killed.set(incident.pid, {
				...known,
				incarnation: incident.incarnation,
			});
	}
	const death = inOrder.find(
		({ type }) => type === "protection.host_death_detected",
	);
	return [
		...(death === undefined ? [] : [death]),
		...killed.values(),
		...settled(inOrder, killed.size),
	];
}

function settled(
	inOrder: readonly Incident[],
	named: number,
): readonly Incident[] {
	const all = inOrder.filter(
		(incident) => incident.type === "protection.run_settled",
	);
	const last = all.at(-1);
	if (last === undefined) return [];
	// Not every one is named where there were very many.
	const killed = Math.max(named, ...all.map(({ killed }) => killed));
	return [{ ...last, killed }];
}
