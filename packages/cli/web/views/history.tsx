import type { RunHistory } from "@snakepit/core/inspect";
import { counted, dayAndTime, plainStart } from "../../src/wording/figures.ts";
import {
	type HistoryEntry,
	historyEntries,
	lasted,
	runEnd,
} from "../../src/wording/run-history.ts";
import { usePolled } from "./polled.ts";

const TEXT_CHARACTERS = 4_000;
/** Runs may end while the page is open. */
const REFRESH_MS = 5_000;

/** Runs of the ledger, living and dead, latest first. */
export function HistoryView({
	livingRunId,
}: {
	readonly livingRunId: string | undefined;
}) {
	const { answer, problem } = usePolled<{
		readonly runs: readonly RunHistory[];
	}>("api/history", REFRESH_MS);
	if (problem !== undefined) return <p class="empty">{problem}</p>;
	if (answer === undefined) return <p class="empty">Reading the ledger…</p>;
	const { runs } = answer;
	if (runs.length === 0) return <p class="empty">The ledger has no runs.</p>;
	return (
		<ol class="runs">
			{runs.map((run) => (
				<Run key={run.runId} run={run} isOpen={run.runId === livingRunId} />
			))}
		</ol>
	);
}

function Run({
	run,
	isOpen,
}: {
	readonly run: RunHistory;
	readonly isOpen: boolean;
}) {
	const end = runEnd(run);
	const entries = historyEntries(run);
	return (
		<li>
			<details open={isOpen}>
				<summary>
					<span class="badge" data-tone={end.tone}>
						{end.word}
					</span>{" "}
					<strong>{run.program?.name ?? "unknown program"}</strong>{" "}
					<span class="facts">
						<span>{dayAndTime(run.startedAt)}</span>
						<span>pid {run.owner.pid}</span>
						<span>
							<code>{run.runId}</code>
						</span>
						{run.endedAt !== undefined && (
							<span>lived {lasted(run, run.endedAt)}</span>
						)}
						<span>{counted(run.workerCount, "worker")}</span>
						{run.killed > 0 && (
							<span data-tone="bad">
								{counted(run.killed, "process", "processes")} ended after it
							</span>
						)}
					</span>
				</summary>
				{end.detail !== undefined && <p>{end.detail}</p>}
				{run.program && (
					<p class="facts">
						<code>{plainStart(run.program.cwd, 400)}</code>
						<span>Node {run.program.node}</span>
					</p>
				)}
				{entries.length > 0 && (
					<ol class="timeline">
						{entries.map((entry) => (
							<Entry
								key={entry.key}
								entry={entry}
								timeless={run.state === "running" ? "now" : "unknown"}
							/>
						))}
					</ol>
				)}
			</details>
		</li>
	);
}

function Entry({
	entry,
	timeless,
}: {
	readonly entry: HistoryEntry;
	/** Shown instead of a time. */
	readonly timeless: string;
}) {
	return (
		<li data-tone={entry.tone}>
			<time>
				{entry.wallMs === undefined ? timeless : dayAndTime(entry.wallMs)}
			</time>
			<div>
				<p>{plainStart(entry.text, TEXT_CHARACTERS)}</p>
				{entry.lines.length > 0 && (
					<details>
						<summary>Its last lines</summary>
						<pre>{plainStart(entry.lines.join("\n"), TEXT_CHARACTERS)}</pre>
					</details>
				)}
			</div>
		</li>
	);
}
