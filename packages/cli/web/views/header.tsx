import { useState } from "preact/hooks";
import { dayAndTime, duration } from "../../src/wording/figures.ts";
import type { RunFeed } from "../feed/run-feed.ts";
import type { PageState } from "../model/page-state.ts";
import { applyTheme, storedTheme, THEMES } from "../theme.ts";

/** Shows the current run and the others. */
export function Header({
	state: { run, runs },
	feed,
}: {
	readonly state: PageState;
	readonly feed: RunFeed;
}) {
	const shown = run?.tick?.run;
	const others = runs.filter(({ runId }) => runId !== run?.runId);
	return (
		<header>
			<h1>
				<img src="/icon.svg" alt="" width="24" height="24" />
				{shown?.program ?? "Snakepit"}
			</h1>
			{shown && (
				<p class="facts">
					<span>pid {shown.pid}</span>
					<span>
						run <code>{shown.runId}</code>
					</span>
					<span title={dayAndTime(shown.startedAtMs)}>
						up {duration(shown.wallMs - shown.startedAtMs)}
					</span>
					<span>
						{shown.protections.length === 0
							? "no extra protections"
							: shown.protections.join(", ")}
					</span>
				</p>
			)}
			<div class="controls">
				{others.length > 0 && (
					<label>
						<span class="hidden">Run</span>
						<select
							value={run?.runId}
							onFocus={() => void feed.list()}
							onChange={({ currentTarget }) => feed.follow(currentTarget.value)}
						>
							{run && (
								<option value={run.runId}>{shown?.program ?? run.runId}</option>
							)}
							{others.map(({ runId, program, pid }) => (
								<option key={runId} value={runId}>
									{program} (pid {pid}, {runId})
								</option>
							))}
						</select>
					</label>
				)}
				<ThemeSwitch />
			</div>
		</header>
	);
}

function ThemeSwitch() {
	const [theme, setTheme] = useState(storedTheme());
	return (
		<label>
			<span class="hidden">Colours</span>
			<select
				value={theme}
				onChange={({ currentTarget }) => {
					const chosen = THEMES.find((each) => each === currentTarget.value);
					if (chosen === undefined) return;
					applyTheme(chosen);
					setTheme(chosen);
				}}
			>
				{THEMES.map((each) => (
					<option key={each} value={each}>
						{each === "system" ? "System colours" : `${each} colours`}
					</option>
				))}
			</select>
		</label>
	);
}
