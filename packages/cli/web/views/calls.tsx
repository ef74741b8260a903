import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RecordedCall } from "../../src/dash/run-source.ts";
import {
	counted,
	dayAndTime,
	duration,
	plainStart,
	timeOfDay,
	whole,
} from "../../src/wording/figures.ts";
import { fragmentOf, traceLink } from "../model/addresses.ts";
import type { RunView } from "../model/page-state.ts";
import {
	type CallFilter,
	callFilter,
	isFine,
	keyOf,
	listedCalls,
	mergedCalls,
	recordedCall,
	runningCall,
	type SettledCall,
	type ShownAttempt,
	type TriedCall,
} from "../model/settled-calls.ts";
import { Name } from "./name.tsx";
import { usePolled } from "./polled.ts";

/** So many rows of a list are in the page: what failed is looked for, and what succeeded is an example. */
const FAILED_ROWS = 200;
const SUCCEEDED_ROWS = 50;
/** The ledger is read this often, in milliseconds: a call that fails now is on the page before, from its event. */
const REFRESH_MS = 10_000;

/** Calls that failed, also before the page was opened and in earlier runs, and some that succeeded; one of them in detail. */
export function CallsView({
	run,
	query,
}: {
	/** `undefined` while none lives. */
	readonly run: RunView | undefined;
	/** The filter, and which call is shown in detail: a link to it is the same after a reload, and in another browser. */
	readonly query: Readonly<Record<string, string>>;
}) {
	const filter = callFilter(query);
	const { answer, problem } = usePolled<{
		readonly calls: readonly RecordedCall[];
	}>("api/failed-calls", REFRESH_MS);
	const recorded = useMemo(
		() => (answer?.calls ?? []).map(recordedCall),
		[answer],
	);
	const seen =
		run === undefined ? [] : [...run.calls.failed, ...run.calls.succeeded];
	const latest = mergedCalls(seen, recorded);
	const [paused, setPaused] = useState<readonly SettledCall[]>();
	const calls = paused ?? latest;
	const listed = listedCalls(calls, filter);
	const failed = listed.filter((call) => !isFine(call));
	const { call: callId } = query;
	const go = (change: Readonly<Record<string, string>>) => {
		// Not one step back for each letter of a search.
		location.replace(fragmentOf("calls", { ...query, ...change }));
	};
	const pools = [
		...new Set([
			...(run?.tick?.run.pools.map(({ pool }) => pool) ?? []),
			...calls.map(({ pool }) => pool),
		]),
	];
	const leftOut = run?.tick?.callsLeftOut ?? 0;
	const newCalls =
		paused === undefined
			? 0
			: mergedCalls(paused, latest).length - paused.length;
	return (
		<>
			{callId !== undefined && (
				<CallDetails
					run={run}
					calls={latest}
					isAsked={answer !== undefined || problem !== undefined}
					query={query}
				/>
			)}
			<CallFilters filter={filter} pools={pools} go={go}>
				<button
					type="button"
					aria-pressed={paused !== undefined}
					onClick={() => setPaused(paused === undefined ? latest : undefined)}
				>
					{paused === undefined
						? "Pause"
						: `Resume${newCalls > 0 ? ` (${whole(newCalls)} new)` : ""}`}
				</button>
			</CallFilters>
			<p class="count">
				{answer !== undefined
					? "Calls that failed, also before this page was opened and in earlier runs"
					: "Every call that failed since this page was opened"}
				, and at most 20 a second that succeeded while it was open
				{leftOut > 0 && ` (${whole(leftOut)} left out in the last half second)`}
				. {problem}
			</p>
			{listed.length === 0 ? (
				<p class="empty">
					{calls.length === 0
						? "No call has ended yet."
						: "No call passes the filter."}
				</p>
			) : (
				<div class="table-frame">
					<table class="calls">
						<thead>
							<tr>
								<th scope="col">Call</th>
								<th scope="col">Command</th>
								<th scope="col">Outcome</th>
								<th scope="col">Worker</th>
								<th scope="col" class="number">
									Took
								</th>
								<th scope="col" class="number">
									Attempts
								</th>
								<th scope="col">Ended</th>
							</tr>
						</thead>
						<Rows
							title={`${whole(failed.length)} failed`}
							calls={failed}
							most={FAILED_ROWS}
							query={query}
							livingRunId={run?.runId}
							hasPools={pools.length > 1}
						/>
						<Rows
							title={`${whole(listed.length - failed.length)} succeeded`}
							calls={listed.slice(failed.length)}
							most={SUCCEEDED_ROWS}
							query={query}
							livingRunId={run?.runId}
							hasPools={pools.length > 1}
						/>
					</table>
				</div>
			)}
		</>
	);
}

function CallFilters({
	filter: { outcome, of, text },
	pools,
	go,
	children,
}: {
	readonly filter: CallFilter;
	readonly pools: readonly string[];
	readonly go: (change: Readonly<Record<string, string>>) => void;
	readonly children: ComponentChildren;
}) {
	return (
		<form class="filters" onSubmit={(event) => event.preventDefault()}>
			<label>
				Search{" "}
				<input
					type="search"
					value={text}
					placeholder="command, code, message, worker, id"
					onInput={({ currentTarget }) => go({ text: currentTarget.value })}
				/>
			</label>
			<label>
				Outcome{" "}
				<select
					value={outcome}
					onChange={({ currentTarget }) =>
						go({
							outcome: currentTarget.value === "all" ? "" : currentTarget.value,
						})
					}
				>
					<option value="all">failed first</option>
					<option value="failed">only failed</option>
					<option value="succeeded">only succeeded</option>
				</select>
			</label>
			{pools.length > 1 && (
				<label>
					Pool{" "}
					<select
						value={of}
						onChange={({ currentTarget }) => go({ of: currentTarget.value })}
					>
						<option value="">all</option>
						{pools.map((name) => (
							<option key={name} value={name}>
								{name}
							</option>
						))}
					</select>
				</label>
			)}
			{children}
		</form>
	);
}

/** Calls that ended alike, below a title. */
function Rows({
	title,
	calls,
	most,
	query,
	livingRunId,
	hasPools,
}: {
	readonly title: string;
	readonly calls: readonly SettledCall[];
	/** How many are shown. */
	readonly most: number;
	readonly query: Readonly<Record<string, string>>;
	readonly livingRunId: string | undefined;
	readonly hasPools: boolean;
}) {
	if (calls.length === 0) return null;
	const more = calls.length - most;
	return (
		<tbody>
			<tr class="group">
				<th scope="rowgroup" colSpan={7}>
					{title}
				</th>
			</tr>
			{calls.slice(0, most).map((call) => (
				<CallRow
					key={keyOf(call)}
					call={call}
					query={query}
					isLiving={call.runId === livingRunId}
					hasPools={hasPools}
				/>
			))}
			{more > 0 && (
				<tr>
					<td colSpan={7}>
						<small>and {whole(more)} older ones: search for them</small>
					</td>
				</tr>
			)}
		</tbody>
	);
}

function CallRow({
	call,
	query,
	isLiving,
	hasPools,
}: {
	readonly call: SettledCall;
	readonly query: Readonly<Record<string, string>>;
	/** Whether it was made in the run that the page shows. */
	readonly isLiving: boolean;
	readonly hasPools: boolean;
}) {
	const { runId, pool, callId, command, alike, workerId } = call;
	const isChosen =
		query["call"] === callId &&
		query["pool"] === pool &&
		query["run"] === runId;
	return (
		<tr aria-selected={isChosen} data-call={callId} data-run={runId}>
			<th scope="row">
				<a
					href={fragmentOf("calls", {
						...query,
						run: runId,
						pool,
						call: callId,
					})}
				>
					{callId}
				</a>
			</th>
			<td data-label="Command">
				{command === undefined ? "–" : <Name text={command} />}
				{hasPools && (
					<small>
						{" "}
						<Name text={pool} />
					</small>
				)}
			</td>
			<td data-label="Outcome">
				<span class="badge" data-tone={isFine(call) ? "good" : "bad"}>
					{call.outcome.replace("_", " ")}
				</span>
				{call.code !== undefined && <small> {call.code}</small>}
				{alike > 0 && <small> and {counted(alike, "more call")} alike</small>}
			</td>
			<td data-label="Worker">
				{workerId === undefined ? "–" : <Name text={workerId} />}
			</td>
			<td data-label="Took" class="number">
				{duration(call.totalMs)}
			</td>
			<td data-label="Attempts" class="number">
				{call.attempts}
			</td>
			<td data-label="Ended">
				{isLiving ? timeOfDay(call.wallMs) : dayAndTime(call.wallMs)}
				{!isLiving && <small> in run {runId}</small>}
			</td>
		</tr>
	);
}

const TEXT_CHARACTERS = 10_000;
const TEMPLATE_KEY = "snakepit-trace-link";

/** One call: its current state, or how it ended. */
function CallDetails({
	run,
	calls,
	isAsked,
	query,
}: {
	readonly run: RunView | undefined;
	readonly calls: readonly SettledCall[];
	/** Whether the ledger has been read. */
	readonly isAsked: boolean;
	readonly query: Readonly<Record<string, string>>;
}) {
	const { call: callId = "", pool, run: runId } = query;
	const section = useRef<HTMLElement>(null);
	// Its link may be far down in the list.
	useEffect(() => section.current?.scrollIntoView(), [callId, pool, runId]);
	const settled = calls.find(
		(call) =>
			call.callId === callId &&
			(pool === undefined || call.pool === pool) &&
			(runId === undefined || call.runId === runId),
	);
	const worker =
		runId !== undefined && runId !== run?.runId
			? undefined
			: run?.tick?.run.pools
					.filter((each) => pool === undefined || each.pool === pool)
					.flatMap(({ workers }) => workers)
					.find(({ running }) =>
						running.some((call) => call.callId === callId),
					);
	const running = worker?.running.find((call) => call.callId === callId);
	const { call: _, pool: __, run: ___, ...rest } = query;
	return (
		<section ref={section} class="call" aria-label={`Call ${callId}`}>
			<h2>
				Call {callId}
				{pool !== undefined && (
					<>
						{" "}
						of <Name text={pool} />
					</>
				)}
			</h2>
			{settled !== undefined ? (
				<Settled call={settled} isLiving={settled.runId === run?.runId} />
			) : running !== undefined && worker !== undefined ? (
				<>
					<p>
						<Name text={running.command} /> has been running on{" "}
						<Name text={worker.workerId} /> for {duration(running.forMs)}
						{running.cancelled && "; its caller is gone"}.
					</p>
					<CallAttempts call={runningCall(running, worker.workerId)} />
				</>
			) : isAsked ? (
				<p>
					It is not running, and is not among the calls that this page and the
					ledger know: it waits for a worker, or it succeeded and was left out,
					or it is of a run that is not kept any more.
				</p>
			) : (
				<p>Reading the ledger…</p>
			)}
			<p>
				{(runId === undefined || runId === run?.runId) && (
					<>
						<a href={fragmentOf("logs", { call: callId, pool })}>
							What it prints
						</a>
						{" · "}
					</>
				)}
				<a href={fragmentOf("calls", rest)}>Close</a>
			</p>
		</section>
	);
}

function Settled({
	call,
	isLiving,
}: {
	readonly call: SettledCall;
	/** Whether it was made in the run that the page shows. */
	readonly isLiving: boolean;
}) {
	const { args, traceId } = call;
	return (
		<>
			<dl>
				<dt>Command</dt>
				<dd>
					{call.command === undefined ? (
						"not recorded"
					) : (
						<Name text={call.command} />
					)}{" "}
					on pool <Name text={call.pool} />
					{!isLiving && ` in run ${call.runId}`}
				</dd>
				<dt>Outcome</dt>
				<dd>
					{call.outcome.replace("_", " ")}
					{call.code !== undefined && ` (${call.code})`}
				</dd>
				{call.ran !== undefined && (
					<>
						<dt>Its work</dt>
						<dd>{call.ran === "no" ? "did not begin" : "may have begun"}</dd>
					</>
				)}
				<dt>Took</dt>
				<dd>
					{duration(call.totalMs)}, waiting included, in {call.attempts}{" "}
					{call.attempts === 1 ? "attempt" : "attempts"}
				</dd>
				{call.sums !== undefined && (
					<>
						<dt>Of that</dt>
						<dd>
							waited {duration(call.sums.waitedMs)}, ran{" "}
							{duration(call.sums.ranMs)}
							{call.workerId !== undefined && (
								<>
									, last on <Name text={call.workerId} />
								</>
							)}
						</dd>
					</>
				)}
				<dt>Ended</dt>
				<dd>{dayAndTime(call.wallMs)}</dd>
				{args !== undefined && (
					<>
						<dt>Arguments</dt>
						<dd>
							<code>{plainStart(JSON.stringify(args), 2_000)}</code>
						</dd>
					</>
				)}
				{traceId !== undefined && (
					<>
						<dt>Trace</dt>
						<dd>
							<Trace traceId={traceId} />
						</dd>
					</>
				)}
			</dl>
			<CallAttempts call={call} />
			{call.message !== undefined && (
				<pre class="error">{plainStart(call.message, TEXT_CHARACTERS)}</pre>
			)}
			{call.traceback !== undefined && (
				<pre>{plainStart(call.traceback, TEXT_CHARACTERS)}</pre>
			)}
		</>
	);
}

function Trace({ traceId }: { readonly traceId: string }) {
	const [template, setTemplate] = useState(
		localStorage.getItem(TEMPLATE_KEY) ?? "",
	);
	const link = traceLink(template, traceId);
	return (
		<>
			{link === undefined ? (
				<code>{traceId}</code>
			) : (
				<a href={link} target="_blank" rel="noopener noreferrer">
					{traceId}
				</a>
			)}{" "}
			<label>
				<small>address</small>{" "}
				<input
					type="url"
					value={template}
					placeholder="http://localhost:16686/trace/{traceId}"
					onInput={({ currentTarget }) => {
						localStorage.setItem(TEMPLATE_KEY, currentTarget.value);
						setTemplate(currentTarget.value);
					}}
				/>
			</label>
		</>
	);
}

/** The attempts of a call: the worker, how long the call waited for it and ran there, and how the attempt ended. */
function CallAttempts({ call }: { readonly call: TriedCall }) {
	const { attempts, attemptDetails, totalMs } = call;
	const unknown = attempts - attemptDetails.length;
	const lastWaitMs =
		totalMs === undefined ? undefined : waitAfter(attemptDetails, totalMs);
	if (attempts === 0 || attemptDetails.length === 0) return null;
	return (
		<div class="table-frame">
			<table class="attempts">
				<thead>
					<tr>
						<th scope="col">Attempt</th>
						<th scope="col">Worker</th>
						<th scope="col" class="number">
							Waited
						</th>
						<th scope="col" class="number">
							Ran
						</th>
						<th scope="col">Ended</th>
					</tr>
				</thead>
				<tbody>
					{attemptDetails.map((attempt, index) => (
						<AttemptRow
							key={unknown + index}
							number={unknown + index + 1}
							attempt={attempt}
							isRunning={
								totalMs === undefined && index === attemptDetails.length - 1
							}
						/>
					))}
					{lastWaitMs !== undefined && (
						<tr>
							<th scope="row">none</th>
							<td data-label="Worker" />
							<td data-label="Waited" class="number">
								{duration(lastWaitMs)}
							</td>
							<td data-label="Ran" class="number" />
							<td data-label="Ended">{call.code}</td>
						</tr>
					)}
				</tbody>
			</table>
		</div>
	);
}

function AttemptRow({
	number,
	attempt: { workerId, waitedMs, ranMs, code, pauseMs },
	isRunning,
}: {
	readonly number: number;
	readonly attempt: ShownAttempt;
	readonly isRunning: boolean;
}) {
	return (
		<tr>
			<th scope="row">{number}</th>
			<td data-label="Worker">
				<a href={fragmentOf("logs", { worker: workerId })}>
					<Name text={workerId} focus="parent" />
				</a>
			</td>
			<td data-label="Waited" class="number">
				{duration(waitedMs)}
			</td>
			<td data-label="Ran" class="number">
				{duration(ranMs)}
			</td>
			<td data-label="Ended">
				{code ?? (isRunning ? "running" : "succeeded")}
				{pauseMs !== null && pauseMs > 0 && (
					<small>, tried again after {duration(pauseMs)}</small>
				)}
			</td>
		</tr>
	);
}

/** How long a call waited after its last attempt; `undefined` when it ended with that attempt. */
function waitAfter(
	attempts: readonly ShownAttempt[],
	totalMs: number,
): number | undefined {
	if (attempts.at(-1)?.pauseMs === null) return undefined;
	const known = attempts.map(
		({ waitedMs, ranMs, pauseMs }) => waitedMs + ranMs + (pauseMs ?? 0),
	);
	return Math.max(
		0,
		known.reduce((sum, ms) => sum - ms, totalMs),
	);
}
