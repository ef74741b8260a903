import { OptionsError } from "./errors.ts";
import type { SnakepitEventType } from "./events.ts";
import { nearest, show } from "./option-check.ts";

/** Every type of event: the compiler compares it with the union. */
const EVENT_TYPES: Readonly<Record<SnakepitEventType, true>> = {
	"run.started": true,
	"run.ended": true,
	"cleanup.started": true,
	"cleanup.finished": true,
	"orphan.reaped": true,
	"orphan.spared": true,
	"run.spared": true,
	"registry.set_aside": true,
	"registry.relocated": true,
	"registry.degraded": true,
	"registry.recovered": true,
	"registry.file_lost": true,
	"registry.file_renewed": true,
	"registry.reconciled": true,
	"audit.stray_found": true,
	"audit.stray_killed": true,
	"audit.stray_spared": true,
	"audit.failed": true,
	"protection.started": true,
	"protection.ended": true,
	"protection.unavailable": true,
	"protection.host_death_detected": true,
	"protection.process_killed": true,
	"protection.run_settled": true,
	"control.requested": true,
	"control.unavailable": true,
	"pool.started": true,
	"pool.start_failed": true,
	"pool.closing": true,
	"pool.closed": true,
	"pool.paused": true,
	"pool.resumed": true,
	"pool.resized": true,
	"pool.recycle_requested": true,
	"pool.restart_requested": true,
	"pool.reloaded": true,
	"pool.reload_failed": true,
	"pool.restart_budget_spent": true,
	"pool.adapter_noted": true,
	"preload.started": true,
	"preload.ended": true,
	"preload.unavailable": true,
	"worker.starting": true,
	"worker.spawned": true,
	"worker.ready": true,
	"worker.start_failed": true,
	"worker.retiring": true,
	"worker.condemned": true,
	"worker.exited": true,
	"worker.stop_step": true,
	"worker.group_spared": true,
	"worker.output": true,
	"worker.logged": true,
	"worker.notified": true,
	"heartbeat.sent": true,
	"heartbeat.answered": true,
	"heartbeat.missed": true,
	"heartbeat.busy": true,
	"heartbeat.suspended": true,
	"heartbeat.hung": true,
	"call.accepted": true,
	"call.dispatched": true,
	"call.released": true,
	"call.retried": true,
	"call.settled": true,
	"session.started": true,
	"session.ended": true,
	"job.accepted": true,
	"job.started": true,
	"job.settled": true,
	"host.signal_received": true,
	"host.grace_spent": true,
	"telemetry.misconfigured": true,
	"listener.threw": true,
};

/** What workers say. */
export const LOG_TYPES: readonly SnakepitEventType[] = [
	"worker.output",
	"worker.logged",
];

/** What is too frequent for people: each ping, and each step of a call but its end. */
const FREQUENT: readonly SnakepitEventType[] = [
	"heartbeat.sent",
	"heartbeat.answered",
	"call.accepted",
	"call.dispatched",
	"call.released",
];

/** What people see of a pool who look at it, the end of each call included: that is the most frequent, and first. */
export const POOL_TYPES: readonly SnakepitEventType[] = [
	"call.settled",
	...watched(isOfPool),
];

/** Likewise of a run. */
export const RUN_TYPES: readonly SnakepitEventType[] = watched(
	(type) => !isOfPool(type),
);

function watched(
	wanted: (type: string) => boolean,
): readonly SnakepitEventType[] {
	const types = Object.keys(EVENT_TYPES) as SnakepitEventType[];
	return types.filter(
		(type) =>
			wanted(type) &&
			type !== "call.settled" &&
			!FREQUENT.includes(type) &&
			!LOG_TYPES.includes(type),
	);
}

/** Whether a pool reports it, or the run that the pool is in. */
function isOfPool(type: string): boolean {
	return !/^(run|cleanup|orphan|registry|audit|protection|host|control)\./.test(
		type,
	);
}

/**
 * Checks the name of an event.
 *
 * @throws OptionsError `UNKNOWN_EVENT` with the nearest known name.
 */
export function checkEventType(at: string, type: unknown): void {
	if (typeof type === "string" && Object.hasOwn(EVENT_TYPES, type)) return;
	const near = nearest(String(type), Object.keys(EVENT_TYPES));
	throw new OptionsError({
		code: "UNKNOWN_EVENT",
		ran: "no",
		message: `${at}: there is no event ${show(type)}. ${near === undefined ? "docs/reference/events.md lists all." : `Did you mean "${near}"?`}`,
	});
}
