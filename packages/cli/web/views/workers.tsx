import type {
	PoolSnapshot,
	RunSnapshot,
	WorkerSnapshot,
} from "@snakepit/control";
import {
	bytes,
	counted,
	duration,
	processors,
	whole,
} from "../../src/wording/figures.ts";
import { plainStart } from "../../src/wording/plain-text.ts";
import { fragmentOf } from "../model/route.ts";
import { recycleWords, workerStatus } from "../model/worker-status.ts";
import { ActButton } from "./act-button.tsx";
import { usePage } from "./page-context.ts";
import { PoolActs } from "./pool-acts.tsx";
import { Queue } from "./queue.tsx";

const NAME_CHARACTERS = 200;

/** What every worker does now, and the waiting calls. */
export function WorkersView({
	run,
}: {
	readonly run: RunSnapshot | undefined;
}) {
	if (run === undefined) return <p class="empty">Waiting for the program…</p>;
	if (run.pools.length === 0) return <p class="empty">No pool is open.</p>;
	return (
		<>
			{run.pools.map((pool) => (
				<PoolSection key={pool.pool} pool={pool} />
			))}
		</>
	);
}

function PoolSection({ pool }: { readonly pool: PoolSnapshot }) {
	const { can } = usePage();
	const { calls, size } = pool;
	const failed = calls.failed + calls.aborted + calls.timed_out;
	return (
		<section aria-label={`Pool ${pool.pool}`}>
			<div class="section-head">
				<h2>{pool.pool}</h2>
				<p class="facts">
					<span>{pool.adapter}</span>
					<span
						class="badge"
						data-tone={pool.phase === "open" ? "good" : "warn"}
					>
						{pool.phase}
					</span>
					<span>
						{size.min === size.max ? size.min : `${size.min} to ${size.max}`}{" "}
						workers
					</span>
					<span>{counted(calls.succeeded, "call")} succeeded</span>
					<span data-tone={failed > 0 ? "bad" : undefined}>
						{whole(failed)} failed
					</span>
					<span data-tone={pool.restarts > 0 ? "bad" : undefined}>
						{counted(pool.restarts, "restart")}
					</span>
					{pool.sessions > 0 && (
						<span>{counted(pool.sessions, "session")}</span>
					)}
				</p>
				{can("act") && <PoolActs pool={pool} />}
			</div>
			<Queue queue={pool.queue} running={calls.running} />
			<div class="table-frame">
				<table class="workers">
					<thead>
						<tr>
							<th scope="col">Worker</th>
							<th scope="col">State</th>
							<th scope="col">Running</th>
							<th scope="col" class="number">
								Memory
							</th>
							<th scope="col" class="number">
								Processor
							</th>
							<th scope="col" class="number">
								Calls
							</th>
							<th scope="col">Recycled</th>
							<th scope="col" class="number">
								Pid
							</th>
							{can("act") && <th scope="col">Actions</th>}
						</tr>
					</thead>
					<tbody>
						{inOrder(pool.workers).map((worker) => (
							<WorkerRow key={worker.workerId} pool={pool} worker={worker} />
						))}
					</tbody>
				</table>
			</div>
		</section>
	);
}

/** A worker keeps its place; otherwise its replacement would come last. */
function inOrder(
	workers: readonly WorkerSnapshot[],
): readonly WorkerSnapshot[] {
	return workers.toSorted((a, b) =>
		a.workerId.localeCompare(b.workerId, "en", { numeric: true }),
	);
}

function WorkerRow({
	pool: { pool },
	worker,
}: {
	readonly pool: PoolSnapshot;
	readonly worker: WorkerSnapshot;
}) {
	const { can } = usePage();
	const { workerId, pid, usage } = worker;
	const { word, tone, detail } = workerStatus(worker);
	const acting = { pool, parameters: { worker: workerId } };
	return (
		<tr data-worker={workerId} data-state={word}>
			<th scope="row">
				<a href={fragmentOf("logs", { worker: workerId })} title="Its logs">
					{workerId}
				</a>
				{worker.place && (
					<small>
						{" "}
						on {worker.place.name} ({worker.place.address})
					</small>
				)}
			</th>
			<td data-label="State">
				<span class="badge" data-tone={tone}>
					{word}
				</span>
				{detail && <small> {detail}</small>}
			</td>
			<td data-label="Running" class="running">
				<Running worker={worker} />
			</td>
			<td data-label="Memory" class="number">
				{usage === null ? "–" : bytes(usage.residentBytes)}
			</td>
			<td data-label="Processor" class="number">
				{typeof usage?.processors === "number"
					? processors(usage.processors)
					: "–"}
			</td>
			<td data-label="Calls" class="number">
				{whole(worker.callsTaken)}
			</td>
			<td data-label="Recycled">
				{recycleWords(worker, { duration, bytes }) ?? "–"}
			</td>
			<td data-label="Pid" class="number">
				{pid ?? "–"}
			</td>
			{can("act") && (
				<td class="acts">
					<ActButton {...acting} act="recycle" label="Recycle" />
					<ActButton
						{...acting}
						act="restart"
						label="Restart"
						confirm="Kill it and lose its calls?"
					/>
				</td>
			)}
		</tr>
	);
}

const SHOWN_CALLS = 3;

function Running({ worker: { running } }: { readonly worker: WorkerSnapshot }) {
	if (running.length === 0) return <>–</>;
	const more = running.length - SHOWN_CALLS;
	return (
		<>
			{running.slice(0, SHOWN_CALLS).map((call) => (
				<div key={call.callId}>
					<a href={fragmentOf("calls", { call: call.callId })}>
						{plainStart(call.command, NAME_CHARACTERS)}
					</a>{" "}
					for {duration(call.forMs)}
					{call.attempt > 1 && <small> attempt {call.attempt}</small>}
					{call.cancelled && <small> cancelled</small>}
					{call.sessionId && (
						<small>
							{" "}
							session {plainStart(call.sessionId, NAME_CHARACTERS)}
						</small>
					)}
				</div>
			))}
			{more > 0 && <small>and {more} more</small>}
		</>
	);
}
