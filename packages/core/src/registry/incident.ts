import type { EventOf } from "../contract/events.ts";
import type { RunId } from "../contract/identity.ts";

/**
 * What a protection saw and did while no host lived. It is kept in the run's
 * file until the next start reports it, with the time at which it happened.
 */
export type Incident = EventOf<
	| "protection.host_death_detected"
	| "protection.process_killed"
	| "protection.run_settled"
>;

/** Distinguishes a process of a run from every other one, even later. */
export interface ProcessKey {
	readonly pid: number;
	readonly startTime: string;
}

/**
 * Returns which worker a process was, or descends from.
 *
 * @param line the process, and what it hung on where that was written down, the nearest first.
 * @param written the name that a protection gave it, which knows only the processes that it forked itself.
 */
export type Naming = (
	line: readonly ProcessKey[],
	written: string | undefined,
) => string | undefined;

/** A longer one is not an incident of ours. */
export const INCIDENT_LIMIT_BYTES = 4_096;

const PROTECTION_NAME = /^[a-z][a-z0-9-]{0,39}$/;
const INCARNATION = /^[0-9a-z]{7}-[0-9]{1,15}$/;
const START_TIME = /^[\x20-\x7e]{1,64}$/;
const FOUND_BY = ["reported", "ledger", "group", "marker", "descent"] as const;
const SIGNALS = ["SIGTERM", "SIGKILL"] as const;

/**
 * Reads one incident of the run `ofRun` from JSON; `undefined` when `text` is
 * not exactly that. What is not known is left out.
 *
 * @param naming returns which worker it was; by default as it is written.
 */
export function parseIncident(
	text: string,
	ofRun: RunId,
	naming: Naming = (_line, written) => written,
): Incident | undefined {
	if (Buffer.byteLength(text) > INCIDENT_LIMIT_BYTES) return undefined;
	const fields = parseObject(text);
	if (fields === undefined) return undefined;
	const { type, wallMs, protection } = fields;
	if (!isAmount(wallMs) || !isName(protection)) return undefined;
	if (fields["ofRun"] !== ofRun) return undefined;
	const common = { wallMs, protection, ofRun };
	switch (type) {
		case "protection.host_death_detected": {
			const { pid, detectionMs } = fields;
			if (pid !== undefined && !isCount(pid)) return undefined;
			if (detectionMs !== undefined && !isAmount(detectionMs)) return undefined;
			return { type, ...common, pid, detectionMs };
		}
		case "protection.process_killed":
			return killed(fields, common, naming);
		case "protection.run_settled": {
			const { killed, durationMs } = fields;
			if (!isCount(killed) || !isAmount(durationMs)) return undefined;
			return { type, ...common, killed, durationMs };
		}
		default:
			return undefined;
	}
}

function killed(
	fields: Readonly<Record<string, unknown>>,
	common: Pick<Incident, "wallMs" | "protection" | "ofRun">,
	naming: Naming,
): Incident | undefined {
	const { pid, startTime, incarnation, below, foundBy, signal } = fields;
	const how = FOUND_BY.find((word) => word === foundBy);
	if (!isCount(pid) || how === undefined) return undefined;
	const sent = SIGNALS.find((word) => word === signal);
	if (signal !== undefined && sent === undefined) return undefined;
	const isKnown = typeof incarnation === "string";
	if (isKnown && !INCARNATION.test(incarnation)) return undefined;
	if (startTime !== undefined && !isStartTime(startTime)) return undefined;
	const above: readonly unknown[] = Array.isArray(below) ? below : [];
	const line = [fields, ...above].filter(isProcessKey);
	return {
		type: "protection.process_killed",
		...common,
		pid,
		startTime,
		incarnation: naming(line, isKnown ? incarnation : undefined),
		foundBy: how,
		signal: sent,
	};
}

function parseObject(
	text: string,
): Readonly<Record<string, unknown>> | undefined {
	try {
		const value: unknown = JSON.parse(text);
		return typeof value === "object" && value !== null
			? (value as Readonly<Record<string, unknown>>)
			: undefined;
	} catch {
		return undefined;
	}
}

function isProcessKey(value: unknown): value is ProcessKey {
	if (typeof value !== "object" || value === null) return false;
	const { pid, startTime } = value as Readonly<Record<string, unknown>>;
	return isCount(pid) && isStartTime(startTime);
}

function isStartTime(value: unknown): value is string {
	return typeof value === "string" && START_TIME.test(value);
}

function isName(value: unknown): value is string {
	return typeof value === "string" && PROTECTION_NAME.test(value);
}

function isAmount(value: unknown): value is number {
	return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isCount(value: unknown): value is number {
	return isAmount(value) && Number.isSafeInteger(value);
}
