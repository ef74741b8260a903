import type { WorkerUsage } from "../instrument.ts";
import type { Worker } from "../worker/worker.ts";
import type { ProcessHost } from "../world.ts";

/** What workers use now, their children included; those without a process are left out. */
export function workersUsage(
	workers: readonly Worker[],
	host: ProcessHost,
): readonly WorkerUsage[] {
	const groups = workers.flatMap(({ groupId }) => groupId ?? []);
	const members = host.membersOf(groups);
	return workers.flatMap((worker) => {
		const facts = members.get(worker.groupId ?? -1) ?? [];
		if (facts.length === 0) return [];
		return [
			{
				...worker.ref,
				residentBytes: facts.reduce((sum, each) => sum + each.residentBytes, 0),
				cpuTimeMs: facts.reduce((sum, each) => sum + each.cpuTimeMs, 0),
			},
		];
	});
}
