import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import {
	isSameProcess,
	type ProcessIdentity,
} from "../packages/core/src/contract/identity.ts";
import type { CensusHost } from "../packages/core/src/os/census.ts";
import { endGroup } from "./end-group.ts";

const LOOK_MS = 20;
const PATIENCE_MS = 60_000;

/**
 * Ends a host program that a test started, and then every worker of it, and waits
 * until they are gone: until then they may write into its directories. A test that
 * fails early knows none of them, so they are found by the marker, which names the host.
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
	const deadline = performance.now() + PATIENCE_MS;
	while (true) {
		const left = startedBy(machine, self);
		if (left.length === 0) return;
		if (performance.now() > deadline)
			throw new Error(
				`Processes of a host that was killed do not end: ${left.map(({ pid }) => pid).join(", ")}.`,
			);
		for (const identity of left) endGroup(machine, identity);
		await pause(LOOK_MS);
	}
}

function startedBy(
	machine: CensusHost,
	self: ProcessIdentity,
): readonly ProcessIdentity[] {
	return machine
		.marked()
		.filter(({ marker }) =>
			isSameProcess(
				{ ...self, pid: marker.hostPid, startTime: marker.hostStartTime },
				self,
			),
		)
		.map(({ identity }) => identity);
}
