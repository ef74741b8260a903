import { useEffect, useRef, useState } from "preact/hooks";
import {
	dayAndTime,
	duration,
	plainStart,
	timeOfDay,
	whole,
} from "../../src/wording/figures.ts";
import { fragmentOf, traceLink } from "../model/addresses.ts";
import type { RunView } from "../model/page-state.ts";
import {
	runningCall,
	type SettledCall,
	type ShownAttempt,
	type TriedCall,
} from "../model/settled-calls.ts";

const NAME_CHARACTERS = 100;

/** Calls that failed, and some that succeeded; one of them in detail. */
export function CallsView({
	run,
	callId,
}: {
	readonly run: RunView;
	readonly callId: string | undefined;
}) {
	const leftOut = run.tick?.callsLeftOut ?? 0;
	return (
		<>
			{callId !== undefined && <CallDetails run={run} callId={callId} />}
			<p class="count">
				Every call that failed and at most 20 a second that succeeded, since
				this page was opened
				{leftOut > 0 && `; ${whole(leftOut)} not shown in the last half second`}
				.
			</p>
			{run.calls.length === 0 ? (
				<p class="empty">No call has ended yet.</p>
			) : (
				<div class="table-frame">
					<table>
						<thead>
							<tr>
								<th scope="col">Call</th>
								<th scope="col">Command</th>
								<th scope="col">Outcome</th>
								<th scope="col" class="number">
									Took
								</th>
								<th scope="col" class="number">
									Attempts
								</th>
								<th scope="col">Ended</th>
							</tr>
						</thead>
						<tbody>
							{run.calls.slice(0, 100).map((call) => (
								<CallRow
									key={call.callId}
									call={call}
									isChosen={call.callId === callId}
								/>
							))}
						</tbody>
					</table>
				</div>
			)}
		</>
	);
}

function CallRow({
	call,
	isChosen,
}: {
	readonly call: SettledCall;
	readonly isChosen: boolean;
}) {
	const isFine = call.outcome === "succeeded";
	return (
		<tr aria-selected={isChosen}>
			<th scope="row">
				<a href={fragmentOf("calls", { call: call.callId })}>{call.callId}</a>
			</th>
			<td data-label="Command">{plainStart(call.command, NAME_CHARACTERS)}</td>
			<td data-label="Outcome">
				<span class="badge" data-tone={isFine ? "good" : "bad"}>
					{call.outcome.replace("_", " ")}
				</span>
				{call.code !== undefined && <small> {call.code}</small>}
			</td>
			<td data-label="Took" class="number">
				{duration(call.totalMs)}
			</td>
			<td data-label="Attempts" class="number">
				{call.attempts}
			</td>
			<td data-label="Ended">{timeOfDay(call.wallMs)}</td>
		</tr>
	);
}

const TEXT_CHARACTERS = 10_000;
const TEMPLATE_KEY = "snakepit-trace-link";

/** One call: its current state, or how it ended. */
function CallDetails({
	run,
	callId,
}: {
	readonly run: RunView;
	readonly callId: string;
}) {
	const section = useRef<HTMLElement>(null);
	// Its link may be far down in the list.
	useEffect(() => section.current?.scrollIntoView(), [callId]);
	const settled = run.calls.find((call) => call.callId === callId);
	const worker = run.tick?.run.pools
		.flatMap(({ workers }) => workers)
		.find(({ running }) => running.some((call) => call.callId === callId));
	const running = worker?.running.find((call) => call.callId === callId);
	return (
		<section ref={section} class="call" aria-label={`Call ${callId}`}>
			<h2>Call {callId}</h2>
			{settled !== undefined ? (
				<Settled call={settled} />
			) : running !== undefined && worker !== undefined ? (
				<>
					<p>
						{plainStart(running.command, 200)} has been running on{" "}
						{worker.workerId} for {duration(running.forMs)}
						{running.cancelled && "; its caller is gone"}.
					</p>
					<CallAttempts call={runningCall(running, worker.workerId)} />
				</>
			) : (
				<p>
					It is not running, and is not among the calls that this page knows: it
					waits for a worker, or it ended before the page was opened, or it
					succeeded and was left out.
				</p>
			)}
			<p>
				<a href={fragmentOf("logs", { call: callId })}>What it prints</a>
				{" · "}
				<a href={fragmentOf("calls")}>Close</a>
			</p>
		</section>
	);
}

function Settled({ call }: { readonly call: SettledCall }) {
	const { args, traceId } = call;
	return (
		<>
			<dl>
				<dt>Command</dt>
				<dd>
					{plainStart(call.command, 200)} on pool {call.pool}
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
	if (attempts === 0) return null;
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
				<a href={fragmentOf("logs", { worker: workerId })}>{workerId}</a>
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
