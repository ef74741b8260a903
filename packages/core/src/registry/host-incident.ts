import type { EventOf, SnakepitEvent } from "../contract/events.ts";

const TYPES = [
	"heartbeat.hung",
	"pool.restart_budget_spent",
	"audit.stray_found",
	"audit.stray_killed",
	"audit.stray_spared",
	"protection.ended",
	"protection.unavailable",
] as const;

/** What went wrong while the host of a run lived. It reported it as an event, too. */
export type HostIncident = EventOf<(typeof TYPES)[number]>;

/** More of one run are not recorded: what goes wrong so often is known by then. */
export const HOST_INCIDENTS_LIMIT = 200;

/** Those of a pool, and not of its run. */
export const POOL_INCIDENTS: readonly HostIncident["type"][] = [
	"heartbeat.hung",
	"pool.restart_budget_spent",
];

/** Whether an event is an incident. The end of a protection is one where it was lost. */
export function isHostIncident(event: SnakepitEvent): event is HostIncident {
	return event.type === "protection.ended"
		? event.how === "lost"
		: isType(event.type);
}

/** Reads one from the ledger; `undefined` when `text` is none. */
export function parseHostIncident(text: string): HostIncident | undefined {
	try {
		const event: unknown = JSON.parse(text);
		if (typeof event !== "object" || event === null) return undefined;
		const { type, wallMs } = event as Partial<SnakepitEvent>;
		return isType(type) && typeof wallMs === "number"
			? (event as HostIncident)
			: undefined;
	} catch {
		return undefined;
	}
}

function isType(type: unknown): type is HostIncident["type"] {
	return (TYPES as readonly unknown[]).includes(type);
}
