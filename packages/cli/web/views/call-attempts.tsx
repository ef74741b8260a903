import { duration } from "../../src/wording/figures.ts";
import { fragmentOf } from "../model/route.ts";
import type { ShownAttempt, TriedCall } from "../model/settled-calls.ts";

/** The attempts of a call: the worker, how long the call waited for it and ran there, and how the attempt ended. */
export function CallAttempts({ call }: { readonly call: TriedCall }) {
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
