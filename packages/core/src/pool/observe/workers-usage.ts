import type { WorkerUsage } from "../../instrument.ts";
import type { RemoteUsage } from "../../remote-worker.ts";
import type { Worker } from "../../worker/worker.ts";
import type { ProcessFacts, ProcessHost } from "../../world.ts";

/**
 * What workers use now, their children included, by one look at the process table for all; of those on another machine
 * what was measured there last. Those without a process, or without a measurement, are left out.
 */
export function workersUsage(
	workers: readonly Worker[],
	host: ProcessHost,
): readonly WorkerUsage[] {
	const here = workers.filter(
		({ connection }) => connection?.usage === undefined,
	);
	const members = host.membersOf(here.flatMap(({ groupId }) => groupId ?? []));
	return workers.flatMap((worker) => {
		const { connection, groupId, ref } = worker;
		const used =
			connection?.usage === undefined
				? sumOf(members.get(groupId ?? -1) ?? [])
				: connection.usage();
		if (used === undefined) return [];
		const { residentBytes, cpuTimeMs } = used;
		return [{ ...ref, residentBytes, cpuTimeMs }];
	});
}

function sumOf(facts: readonly ProcessFacts[]): RemoteUsage | undefined {
	if (facts.length === 0) return undefined;
	return {
		residentBytes: facts.reduce((sum, each) => sum + each.residentBytes, 0),
		cpuTimeMs: facts.reduce((sum, each) => sum + each.cpuTimeMs, 0),
	};
}
