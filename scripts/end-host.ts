import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
	isSameProcess,
	type ProcessIdentity,
} from "../packages/core/src/identity.ts";
import type { CensusHost } from "../packages/core/src/os/census.ts";
import { endGroup } from "./end-group.ts";

/**
 * Ends a host program that a test started, and then every worker of it. A test
 * that fails early knows none of them, so they are found by the marker, which names
 * the host.
 *
 * @param self the host, observed after its start; why it could not be, where that failed.
 */
export async function endHost(
	machine: CensusHost,
	child: ChildProcess,
	self: ProcessIdentity | string,
): Promise<void> {
	// Only after its end there is no further worker.
	if (child.exitCode === null && child.signalCode === null) {
		const ended = once(child, "exit");
		child.kill("SIGKILL");
		await ended;
	}
	if (typeof self === "string") return;
	for (const { identity, marker } of machine.marked()) {
		const host: ProcessIdentity = {
			...self,
			pid: marker.hostPid,
			startTime: marker.hostStartTime,
		};
		if (!isSameProcess(host, self)) continue;
		endGroup(machine, identity);
	}
}
