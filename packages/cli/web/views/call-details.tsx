import { useEffect, useRef, useState } from "preact/hooks";
import { dayAndTime, duration } from "../../src/wording/figures.ts";
import { plainStart } from "../../src/wording/plain-text.ts";
import type { RunView } from "../model/page-state.ts";
import { fragmentOf } from "../model/route.ts";
import { runningCall, type SettledCall } from "../model/settled-calls.ts";
import { traceLink } from "../model/trace-link.ts";
import { CallAttempts } from "./call-attempts.tsx";

const TEXT_CHARACTERS = 10_000;
const TEMPLATE_KEY = "snakepit-trace-link";

/** One call: its current state, or how it ended. */
export function CallDetails({
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
