import type { RunHistory } from "@snakepit/core/inspect";

/** Something that ended otherwise than its host wanted. */
export interface ShownIncident {
	readonly wallMs: number;
	readonly runId: string;
	readonly text: string;
}

type WorkerExit = NonNullable<RunHistory["workers"][number]["end"]>["exit"];

/** How a worker may end without anything being wrong. */
const IN_ORDER: readonly string[] = [
	"closed",
	"recycled",
	"restarted",
	"host_exit",
];

/** The incidents of a run: what protections did, workers that ended by themselves or were killed, and the end of the host. */
export function incidentsOf(run: RunHistory): readonly ShownIncident[] {
	const { runId, clean, endedAt, endedBy, killed, workers } = run;
	const ofWorkers = workers.flatMap(
		({ workerId, pool, identity, end, endedAt: at }) =>
			end === undefined || at === undefined || IN_ORDER.includes(end.reason)
				? []
				: [
						{
							wallMs: at,
							runId,
							text: `worker ${workerId} of ${pool} (pid ${identity?.pid ?? "none"}): ${end.reason}${exitText(end.exit)}${end.killer === "none" ? "" : `, killed by ${end.killer}`}`,
						},
					],
	);
	const ofProtections = run.incidents.map((incident) => {
		const { type, wallMs, protection, ...rest } = incident;
		const details = Object.entries(rest)
			.filter(([name, value]) => name !== "ofRun" && value !== undefined)
			.map(([name, value]) => `${name} ${value}`);
		return {
			wallMs,
			runId,
			text: `${protection}: ${type.replace("protection.", "").replaceAll("_", " ")}${details.length === 0 ? "" : ` (${details.join(", ")})`}`,
		};
	});
	const ofHost =
		clean === false && endedAt !== undefined
			? [
					{
						wallMs: endedAt,
						runId,
						text: `the host was gone: ended by ${endedBy ?? "nobody"}, ${killed} processes killed`,
					},
				]
			: [];
	return [...ofWorkers, ...ofProtections, ...ofHost];
}

function exitText(exit: WorkerExit): string {
	if (exit === undefined) return "";
	return exit.kind === "code"
		? `, exit status ${exit.code}`
		: `, ${exit.signal}`;
}
