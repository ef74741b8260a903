import {
	addCounts,
	type ControlClient,
	quantileMs,
	type ServedTick,
} from "@snakepit/control";
import { jsonLine } from "@snakepit/core/adapter";
import { fitted, table } from "../command/output.ts";
import {
	bytes,
	counted,
	duration,
	placed,
	plainText,
} from "../wording/figures.ts";

const CLEAR = "\u001b[H\u001b[2J";
const COLOURS = { fine: 32, busy: 33, trouble: 31 } as const;

/** What `top` writes to. */
export interface Terminal {
	readonly isTTY?: boolean;
	readonly columns?: number;
	readonly rows?: number;
	write(text: string): unknown;
}

export interface TopOptions {
	readonly json?: true;
	/** Shows the run once, and ends. */
	readonly once?: true;
	readonly color: boolean;
}

/** Shows a run until it ends: redrawn in a terminal, otherwise one line for each new verdict. */
export async function top(
	client: ControlClient,
	options: TopOptions,
	terminal: Terminal,
): Promise<void> {
	let last = "";
	for await (const update of client.events()) {
		if (update.kind !== "state") continue;
		const { state } = update;
		if (options.json) terminal.write(`${jsonLine(state)}\n`);
		else if (options.once) terminal.write(`${topView(state).join("\n")}\n`);
		else if (terminal.isTTY) draw(state, options, terminal);
		else {
			const text = plainText(state.verdict.text);
			if (text !== last) terminal.write(`${timeOf(state)} ${text}\n`);
			last = text;
		}
		if (options.once) return;
	}
	if (!options.json) terminal.write("The run has ended.\n");
}

function draw(
	state: ServedTick,
	{ color }: TopOptions,
	terminal: Terminal,
): void {
	// A new terminal may not have a size yet.
	const columns = terminal.columns || 80;
	const rows = terminal.rows || 24;
	const fits = topView(state)
		.slice(0, Math.max(1, rows - 1))
		.map((line) => fitted(line, columns));
	const [verdict = "", ...rest] = fits;
	const code = COLOURS[state.verdict.level];
	const first = color ? `\u001b[${code}m${verdict}\u001b[0m` : verdict;
	terminal.write(`${CLEAR}${[first, ...rest].join("\n")}\n`);
}

function timeOf({ run }: ServedTick): string {
	return new Date(run.wallMs).toISOString();
}

type PoolSnapshot = ServedTick["run"]["pools"][number];
type WorkerSnapshot = PoolSnapshot["workers"][number];

/** The view of a run in `top`: the verdict, then each pool with its queue, its calls and its workers. */
function topView(tick: ServedTick): readonly string[] {
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
		// An older program does not report a location.
		placed(worker.workerId, worker.location),
		`${worker.state}${silent}`,
		String(worker.location?.pid ?? worker.pid ?? "-"),
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
