import type {
	PoolAct,
	PoolSnapshot,
	QueueSnapshot,
	ServedTick,
	Verdict,
	WorkerSnapshot,
} from "@snakepit/control";
import { useEffect, useRef, useState } from "preact/hooks";
import {
	bytes,
	counted,
	duration,
	plainStart,
	plainText,
	processors,
	timeOfDay,
	whole,
} from "../../src/wording/figures.ts";
import { poolState } from "../../src/wording/program-status.ts";
import { post, type RequestError, runPath } from "../feed/requests.ts";
import { fragmentOf } from "../model/addresses.ts";
import { recycleWords, TONES, workerStatus } from "../model/worker-status.ts";
import { Name } from "./name.tsx";
import { usePage } from "./page-context.ts";
import { Stacks } from "./stacks.tsx";

/** What every worker does now, and the waiting calls. */
export function WorkersView({
	tick,
	query: { pool, stacks },
}: {
	readonly tick: ServedTick | undefined;
	/** `stacks` names a worker of `pool`. */
	readonly query: Readonly<Record<string, string>>;
}) {
	if (tick === undefined) return <p class="empty">Waiting for the program…</p>;
	const { run, verdict } = tick;
	return (
		<>
			{stacks !== undefined && pool !== undefined && (
				<Stacks pool={pool} workerId={stacks} />
			)}
			{run.pools.length === 0 && <p class="empty">No pool is open.</p>}
			{run.pools.map((pool) => (
				<PoolSection key={pool.pool} pool={pool} verdict={verdict} />
			))}
		</>
	);
}

function PoolSection({
	pool,
	verdict,
}: {
	readonly pool: PoolSnapshot;
	readonly verdict: Verdict;
}) {
	const { can } = usePage();
	const { calls, size } = pool;
	const failed = calls.failed + calls.aborted + calls.timed_out;
	const { level, words } = poolState(pool, verdict.findings);
	const ready = pool.workers.filter(({ state }) => state === "ready").length;
	return (
		<section aria-label={`Pool ${pool.pool}`}>
			<div class="section-head">
				<h2>
					<Name text={pool.pool} />
				</h2>
				<span class="badge" data-tone={TONES[level]} data-pool-state>
					{words}
				</span>
				<p class="facts">
					<span>{pool.adapter}</span>
					<span>
						{ready} of{" "}
						{size.min === size.max ? size.min : `${size.min} to ${size.max}`}{" "}
						workers ready
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
			<Failing pool={pool} />
			<Queue queue={pool.queue} running={calls.running} />
			{pool.workers.length === 0 ? (
				<p class="count">There is no worker now.</p>
			) : (
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
								{(can("act") || can("logs")) && <th scope="col">Actions</th>}
							</tr>
						</thead>
						<tbody>
							{inOrder(pool.workers).map((worker) => (
								<WorkerRow key={worker.workerId} pool={pool} worker={worker} />
							))}
						</tbody>
					</table>
				</div>
			)}
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
				<a href={fragmentOf("logs", { worker: workerId, pool })}>
					<Name text={workerId} focus="parent" />
				</a>
				{worker.location && (
					<small>
						{" "}
						on{" "}
						<Name
							text={`${worker.location.name} (${worker.location.address})`}
						/>
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
				<Running pool={pool} worker={worker} />
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
			{(can("act") || can("logs")) && (
				<td class="acts">
					{can("logs") && worker.state !== "exited" && (
						<a
							class="button"
							href={fragmentOf("workers", { stacks: workerId, pool })}
						>
							Stacks
						</a>
					)}
					{can("act") && (
						<>
							<ActButton {...acting} act="recycle" label="Recycle" />
							<ActButton
								{...acting}
								act="restart"
								label="Restart"
								confirm="Kill it and lose its calls?"
							/>
						</>
					)}
				</td>
			)}
		</tr>
	);
}

const SHOWN_CALLS = 3;

function Running({
	pool,
	worker: { running },
}: {
	readonly pool: string;
	readonly worker: WorkerSnapshot;
}) {
	const { runId } = usePage();
	if (running.length === 0) return <>–</>;
	const more = running.length - SHOWN_CALLS;
	return (
		<>
			{running.slice(0, SHOWN_CALLS).map((call) => (
				<div key={call.callId}>
					<a
						href={fragmentOf("calls", { run: runId, pool, call: call.callId })}
					>
						<Name text={call.command} focus="parent" />
					</a>{" "}
					for {duration(call.forMs)}
					{call.attempt > 1 && <small> attempt {call.attempt}</small>}
					{call.cancelled && <small> cancelled</small>}
					{call.sessionId && (
						<small>
							{" "}
							session <Name text={call.sessionId} />
						</small>
					)}
				</div>
			))}
			{more > 0 && <small>and {more} more</small>}
		</>
	);
}

/** The last failure of a worker, and when the next start is, while a pool misses workers because of it. */
function Failing({ pool }: { readonly pool: PoolSnapshot }) {
	const { starts, lastFailure } = pool;
	if (lastFailure === null) return null;
	const { spent, max, windowMs } = starts.budget;
	const isFailing = starts.failuresInARow > 0 || starts.next !== null;
	return (
		<details class="failing" data-tone={isFailing ? "bad" : undefined}>
			<summary>
				Last failure at {timeOfDay(lastFailure.wallMs)}:{" "}
				{plainStart(lastFailure.cause, FAILURE_CHARACTERS)}
			</summary>
			<p class="facts">
				<span>code {lastFailure.code}</span>
				<span>
					{whole(spent)} of {counted(max, "restart")} in {duration(windowMs)}{" "}
					spent
				</span>
				{starts.next !== null && (
					<span>
						next start in {duration(starts.next.inMs)}
						{starts.next.after === "budget" && ": the whole budget is spent"}
					</span>
				)}
			</p>
			{lastFailure.lines.length > 0 && (
				<pre>{plainText(lastFailure.lines.join("\n"))}</pre>
			)}
		</details>
	);
}

const FAILURE_CHARACTERS = 500;
const SHOWN = 8;

/** The waiting calls, for how long they have waited, and why. */
function Queue({
	queue: {
		waiting,
		oldestMs,
		why,
		limit,
		counted: looked,
		byPriority,
		byCommand,
	},
	running,
}: {
	readonly queue: QueueSnapshot;
	readonly running: number;
}) {
	if (waiting === 0)
		return (
			<p class="queue">
				No call waits;{" "}
				{running === 0 ? "none is running" : `${whole(running)} running`}.
			</p>
		);
	return (
		<div class="queue" data-waiting={waiting}>
			<p>
				<strong>{counted(waiting, "call")}</strong>{" "}
				{waiting === 1 ? "waits" : "wait"}
				{why !== null && (
					<>
						: <strong>{why}</strong>
					</>
				)}
				.{oldestMs !== null && ` The oldest has waited ${duration(oldestMs)}.`}
				{limit !== null && ` The queue takes ${whole(limit)}.`}
			</p>
			{limit !== null && (
				<meter
					min={0}
					max={limit}
					high={limit * 0.8}
					optimum={0}
					value={waiting}
				>
					{waiting} of {limit}
				</meter>
			)}
			<Shares
				title="By command"
				total={looked}
				rows={byCommand.map(({ command, waiting }) => ({
					name: command,
					waiting,
				}))}
			/>
			{byPriority.length > 1 && (
				<Shares
					title="By priority"
					total={looked}
					rows={byPriority.map(({ priority, waiting }) => ({
						name: `priority ${priority}`,
						waiting,
					}))}
				/>
			)}
		</div>
	);
}

function Shares({
	title,
	total,
	rows,
}: {
	readonly title: string;
	readonly total: number;
	readonly rows: readonly { readonly name: string; readonly waiting: number }[];
}) {
	const more = rows.length - SHOWN;
	return (
		<ul class="shares" aria-label={title}>
			{rows.slice(0, SHOWN).map(({ name, waiting }) => (
				<li key={name} style={{ "--share": `${(100 * waiting) / total}%` }}>
					<span>
						<Name text={name} />
					</span>{" "}
					<span class="number">{whole(waiting)}</span>
				</li>
			))}
			{more > 0 && <li>and {more} more</li>}
		</ul>
	);
}

/** The acts on a whole pool. */
function PoolActs({ pool }: { readonly pool: PoolSnapshot }) {
	const [size, setSize] = useState<{ min: number; max: number }>();
	const { min, max } = size ?? pool.size;
	const name = pool.pool;
	return (
		<details class="pool-acts">
			<summary>Actions</summary>
			<div>
				{pool.phase === "paused" ? (
					<ActButton pool={name} act="resume" label="Resume" />
				) : (
					<ActButton pool={name} act="pause" label="Pause" />
				)}
				<ActButton
					pool={name}
					act="recycle"
					label="Recycle all"
					parameters={{ worker: "all" }}
				/>
				<span class="resize">
					<label>
						min{" "}
						<input
							type="number"
							min={0}
							value={min}
							onInput={({ currentTarget }) =>
								setSize({ min: currentTarget.valueAsNumber, max })
							}
						/>
					</label>
					<label>
						max{" "}
						<input
							type="number"
							min={1}
							value={max}
							onInput={({ currentTarget }) =>
								setSize({ min, max: currentTarget.valueAsNumber })
							}
						/>
					</label>
					<ActButton
						pool={name}
						act="resize"
						label="Resize"
						parameters={{ min, max }}
					/>
				</span>
				<ActButton
					pool={name}
					act="drain"
					label="Drain"
					confirm="Close the pool when its calls have ended?"
				/>
				<ActButton
					pool={name}
					act="kill"
					label="Kill"
					confirm="Close the pool immediately, and lose its calls?"
				/>
			</div>
		</details>
	);
}

type Phase = "ready" | "asking" | "acting";

/** A button that acts on a pool. It asks for confirmation if the act cannot be undone. */
function ActButton({
	pool,
	act,
	parameters = {},
	label,
	confirm,
}: {
	readonly pool: string;
	readonly act: PoolAct;
	readonly parameters?: Readonly<Record<string, unknown>>;
	readonly label: string;
	/** The question; without one, the click acts immediately. */
	readonly confirm?: string;
}) {
	const { runId, notify } = usePage();
	const [phase, setPhase] = useState<Phase>("ready");
	// The question replaces the button, so the focus would be lost.
	const button = useRef<HTMLButtonElement>(null);
	const lastPhase = useRef<Phase>(phase);
	useEffect(() => {
		const wasAsking = lastPhase.current === "asking";
		if (phase === "asking" || (wasAsking && phase === "ready"))
			button.current?.focus();
		lastPhase.current = phase;
	}, [phase]);
	const carryOut = async () => {
		setPhase("acting");
		try {
			await post(runPath(runId, "pools", pool, act), parameters);
			notify(`${label}: done.`, "good");
		} catch (error) {
			const { message } = error as RequestError;
			notify(`${label}: ${message}`, "bad");
		}
		setPhase("ready");
	};
	if (phase === "asking")
		return (
			<span class="question">
				{confirm}{" "}
				<button type="button" class="danger" onClick={() => void carryOut()}>
					{label}
				</button>{" "}
				<button ref={button} type="button" onClick={() => setPhase("ready")}>
					Cancel
				</button>
			</span>
		);
	return (
		<button
			ref={button}
			type="button"
			disabled={phase === "acting"}
			onClick={() =>
				confirm === undefined ? void carryOut() : setPhase("asking")
			}
		>
			{phase === "acting" ? `${label}…` : label}
		</button>
	);
}
