import { addCounts, quantileMs, type ServedTick } from "@snakepit/control";
import { table } from "../command/table.ts";
import { bytes, counted, duration, placed } from "../wording/figures.ts";
import { plainText } from "../wording/plain-text.ts";

type PoolSnapshot = ServedTick["run"]["pools"][number];
type WorkerSnapshot = PoolSnapshot["workers"][number];

/** The view of a run in `top`: the verdict, then each pool with its queue, its calls and its workers. */
export function topView(tick: ServedTick): readonly string[] {
	const { run, verdict } = tick;
	const { program, pid, runId } = run;
	const age = duration(run.wallMs - run.startedAtMs);
	return [
		verdict.text,
		`${program} (pid ${pid}), run ${runId}, open for ${age}`,
		...run.pools.flatMap((pool) => ["", ...poolView(pool, tick)]),
	].map(plainText);
}

function poolView(pool: PoolSnapshot, tick: ServedTick): readonly string[] {
	const { size, calls, queue, workers } = pool;
	const phase = pool.phase === "open" ? "" : `, ${pool.phase}`;
	const waits =
		queue.why === null
			? "none waits"
			: `${queue.waiting} waiting (${queue.why}; oldest ${duration(queue.oldestMs ?? 0)})`;
	const rows = workers.map(workerRow);
	const workerCount =
		size.min === size.max
			? counted(size.max, "worker")
			: `${size.min} to ${size.max} workers`;
	return [
		`${pool.pool}: ${workerCount} of ${pool.adapter}${phase}, ${counted(pool.restarts, "restart")}`,
		// Waiting calls come last, because the verdict already shows them and a terminal may be too narrow for everything.
		`calls: ${calls.running} running, ${calls.succeeded} done, ${calls.failed + calls.timed_out} failed, ${waits}`,
		...throughputLines(pool.pool, tick),
		...table([
			["WORKER", "STATE", "PID", "MEMORY", "CPU", "CALLS", "RUNS", "FOR"],
			...rows,
		]),
	];
}

/** Of the last half second. */
function throughputLines(pool: string, tick: ServedTick): readonly string[] {
	const commands = tick.throughput.filter((each) => each.pool === pool);
	if (commands.length === 0) return [];
	const ended = commands.reduce(
		(sum, { succeeded, failed }) => sum + succeeded + failed,
		0,
	);
	const all = addCounts(...commands.map(({ totalMs }) => totalMs));
	const shares = [0.5, 0.99].map((share) =>
		duration(quantileMs(all, share) ?? 0),
	);
	return [
		`${((ended / tick.tickMs) * 1_000).toFixed(0)} calls/s, median ${shares[0]}, 99 % within ${shares[1]}`,
	];
}

function workerRow(worker: WorkerSnapshot): readonly string[] {
	const { usage, running, heartbeat } = worker;
	const [oldest] = running;
	const more = running.length > 1 ? ` and ${running.length - 1} more` : "";
	const silent =
		heartbeat !== null && heartbeat.missedInARow > 0
			? `, silent for ${duration(heartbeat.silentMs)}`
			: "";
	const processors = usage?.processors ?? null;
	return [
		// An older program does not report a place.
		placed(worker.workerId, worker.place),
		`${worker.state}${silent}`,
		String(worker.place?.pid ?? worker.pid ?? "-"),
		usage === null ? "-" : bytes(usage.residentBytes),
		processors === null ? "-" : `${(processors * 100).toFixed(0)} %`,
		String(worker.callsTaken),
		oldest === undefined ? "-" : `${oldest.command}${noteOn(oldest)}${more}`,
		oldest === undefined ? "-" : duration(oldest.forMs),
	];
}

/** Describes what is unusual about a running call. */
function noteOn({
	attempt,
	cancelled,
}: WorkerSnapshot["running"][number]): string {
	const notes = [
		attempt > 1 ? `attempt ${attempt}` : [],
		cancelled ? "cancelled" : [],
	].flat();
	return notes.length === 0 ? "" : ` (${notes.join(", ")})`;
}
