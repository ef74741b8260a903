import { judgeOwner } from "../cleanup/run-owner.ts";
import { creditProtections, endOfGone } from "../cleanup/settlement.ts";
import { compareIdentity } from "../contract/identity.ts";
import type { WorkerRecord } from "../contract/process-registry.ts";
import type { ProcessHost } from "../contract/world.ts";
import { isRunDirectory } from "../os/private-directory.ts";
import { readIncidentFiles } from "../registry/incident-files.ts";
import type { RunContent } from "../registry/read-run-file.ts";

type Readable = Extract<RunContent, { readonly kind: "readable" }>;
type Found = Pick<Readable, "workers" | "incidents">;

/**
 * What became of a run that its host did not end, as it is found now: the host is judged by machine, boot, pid and
 * start time, each worker by its pid and start time.
 *
 * @returns `undefined` when the host lives, or that cannot be judged from here, or the run is over.
 */
export function abandonedRun(
	content: Readable,
	host: Pick<ProcessHost, "self" | "observe">,
): Found | undefined {
	const { run, workers } = content;
	if (run.state === "terminated") return undefined;
	const seen = host.observe(run.owner.pid);
	const verdict = judgeOwner(run.owner, host.self, seen);
	if (typeof verdict === "object") return undefined;
	const boot = verdict === "dead" ? "same" : "other";
	const isGone = ({ identity, status }: WorkerRecord): boolean =>
		status !== "ended" &&
		(boot === "other" ||
			identity === undefined ||
			compareIdentity(identity, host.self, host.observe(identity.pid)) ===
				"gone");
	const incidents = [...content.incidents, ...leftBehind(content)].sort(
		(a, b) => a.wallMs - b.wallMs,
	);
	const gone = workers.filter(isGone).map((worker) => ({
		incarnation: worker.incarnation,
		end: endOfGone(worker, boot),
	}));
	const ends = new Map(
		creditProtections(gone, workers, incidents).map(({ incarnation, end }) => [
			incarnation,
			end,
		]),
	);
	return {
		incidents,
		workers: workers.map((worker) => {
			const end = ends.get(worker.incarnation);
			return end === undefined
				? worker
				: { ...worker, status: "ended", end: { exit: undefined, ...end } };
		}),
	};
}

/** What protections without a database wrote, and no start has moved to the ledger yet. */
function leftBehind({ run, workers }: Readable): Found["incidents"] {
	const { directory, runId } = run;
	return isRunDirectory(directory, runId)
		? readIncidentFiles(directory, runId, () => workers)
		: [];
}
