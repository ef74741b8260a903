import type { QueueSnapshot } from "@snakepit/control";
import { counted, duration, whole } from "../../src/wording/figures.ts";
import { plainStart } from "../../src/wording/plain-text.ts";

const SHOWN = 8;
const NAME_CHARACTERS = 100;

/** The waiting calls, for how long they have waited, and why. */
export function Queue({
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
					name: plainStart(command, NAME_CHARACTERS),
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
					<span>{name}</span> <span class="number">{whole(waiting)}</span>
				</li>
			))}
			{more > 0 && <li>and {more} more</li>}
		</ul>
	);
}
