import { duration, timeOfDay, whole } from "../../src/wording/figures.ts";
import { plainStart } from "../../src/wording/plain-text.ts";
import type { RunView } from "../model/page-state.ts";
import { fragmentOf } from "../model/route.ts";
import type { SettledCall } from "../model/settled-calls.ts";
import { CallDetails } from "./call-details.tsx";

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
