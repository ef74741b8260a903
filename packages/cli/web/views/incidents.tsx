import { useState } from "preact/hooks";
import { plainStart, timeOfDay, whole } from "../../src/wording/figures.ts";
import type { IncidentText } from "../../src/wording/incidents.ts";
import { fragmentOf } from "../model/addresses.ts";
import type { RunView } from "../model/page-state.ts";

const TEXT_CHARACTERS = 2_000;

/** What happened while this page was open, latest first. */
export function IncidentsView({ run }: { readonly run: RunView }) {
	const [all, setAll] = useState(true);
	const shown = run.incidents.filter(
		({ tone }) => all || tone === "bad" || tone === "warn",
	);
	return (
		<>
			<form class="filters" onSubmit={(event) => event.preventDefault()}>
				<label>
					<input type="checkbox" checked={!all} onChange={() => setAll(!all)} />{" "}
					only trouble
				</label>
				<p class="count">
					since this page was opened
					{run.lost > 0 &&
						`; ${whole(run.lost)} events left out: too many at a time`}
				</p>
			</form>
			{shown.length === 0 ? (
				<p class="empty">
					Nothing has happened since this page was opened. The{" "}
					<a href={fragmentOf("history")}>history</a> has what was before.
				</p>
			) : (
				<ol class="timeline">
					{shown.map((incident) => (
						<Incident key={incident.number} incident={incident} />
					))}
				</ol>
			)}
		</>
	);
}

function Incident({
	incident: { wallMs, tone, text, type, lines, workerId },
}: {
	readonly incident: IncidentText;
}) {
	return (
		<li data-tone={tone}>
			<time>{timeOfDay(wallMs)}</time>
			<div>
				<p>
					{plainStart(text, TEXT_CHARACTERS)} <small>{type}</small>
				</p>
				{lines.length > 0 && (
					<details>
						<summary>Its last lines</summary>
						<pre>{plainStart(lines.join("\n"), TEXT_CHARACTERS)}</pre>
					</details>
				)}
				{workerId && tone === "bad" && (
					<a href={fragmentOf("logs", { worker: workerId })}>Logs</a>
				)}
			</div>
		</li>
	);
}
