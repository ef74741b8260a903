import type { RunHistory } from "@snakepit/core/inspect";
import { plainText } from "../live/plain-text.ts";

/** Something that ended otherwise than its host wanted. */
export interface ShownIncident {
	/** `undefined` where the host died before it could record when. */
	readonly wallMs: number | undefined;
	readonly runId: string;
	readonly text: string;
}

type End = NonNullable<RunHistory["workers"][number]["end"]>;

/** How a worker may end without anything being wrong. */
const IN_ORDER: readonly string[] = [
	"closed",
	"recycled",
	"restarted",
	"host_exit",
];

/** What every event has, or the line says already. */
const OF_EVENTS: readonly string[] = ["atMs", "ofRun", "runId", "sequence"];

/** The incidents of a run: what protections did, workers that ended by themselves or were killed, and the end of the host. */
export function incidentsOf(run: RunHistory): readonly ShownIncident[] {
	const { runId, endedAt, workers } = run;
	const ofWorkers = workers.flatMap((worker) => {
		const { end, endedAt: wallMs } = worker;
		return end === undefined || IN_ORDER.includes(end.reason)
			? []
			: [{ wallMs, runId, text: workerText(worker, end) }];
	});
	const noted = run.incidents.map((incident) => {
		const { type, wallMs, ...rest } = incident;
		const details = Object.entries(rest)
			.filter(
				([name, value]) => !OF_EVENTS.includes(name) && value !== undefined,
			)
			.map(
				([name, value]) =>
					`${name} ${typeof value === "object" ? JSON.stringify(value) : value}`,
			);
		return {
			wallMs,
			runId,
			text: [type.replace(/[._]/g, " "), ...details].join(", "),
		};
	});
	const death = hostDeath(run);
	const ofHost =
		death === undefined ? [] : [{ wallMs: endedAt, runId, text: death }];
	return [...ofWorkers, ...noted, ...ofHost];
}

/** How a host ended that did not close its run; `undefined` of a run that lives, or ended in order. */
export function hostDeath(run: RunHistory): string | undefined {
	const { state, clean, endedBy, killed } = run;
	if (state === "host_died")
		return "its host died; the next program that starts cleans up after it";
	if (clean !== false) return undefined;
	return `its host died: cleaned up by ${endedBy ?? "nobody"}, ${killed} processes killed`;
}

function workerText(
	{ workerId, pool, identity }: RunHistory["workers"][number],
	{ exit, killer, lastCommand, reason, tail }: End,
): string {
	const last = tail?.at(-1);
	const by = killer === "none" ? "" : `, killed by ${killer}`;
	const how =
		reason === "host_died"
			? `ended with its host (${killer})`
			: `${reason}${exitText(exit)}${by}`;
	return [
		`worker ${workerId} of ${pool} (pid ${identity?.pid ?? "none"}): ${how}`,
		...(lastCommand === undefined ? [] : [`last call ${lastCommand}`]),
		...(last === undefined ? [] : [`last line: ${plainText(last)}`]),
	].join(", ");
}

function exitText(exit: End["exit"]): string {
	if (exit === undefined) return "";
	return exit.kind === "code"
		? `, exit status ${exit.code}`
		: `, ${exit.signal}`;
}
