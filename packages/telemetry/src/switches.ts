import type { Group } from "./catalogue/groups.ts";
import type { ResolvedTelemetryOptions } from "./options.ts";

/** Whether what belongs to a group is told. */
export type Switches = (group: Group) => boolean;

export function switchesOf(options: ResolvedTelemetryOptions): Switches {
	const on: Readonly<Record<Group, boolean>> = {
		calls: true,
		process: options.processEvents,
		heartbeat: options.heartbeatEvents,
		watchdog: options.watchdogEvents,
		telemetry: true,
	};
	return (group) => options.enabled && on[group];
}
