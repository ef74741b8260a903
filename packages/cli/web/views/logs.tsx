import type { RunSnapshot } from "@snakepit/control";
import { useEffect, useState } from "preact/hooks";
import { whole } from "../../src/wording/figures.ts";
import { followLogs, type LogState } from "../feed/log-feed.ts";
import type { Store } from "../feed/store.ts";
import { NO_LINES, withText } from "../model/log-lines.ts";
import { fragmentOf } from "../model/route.ts";
import { LineList } from "./line-list.tsx";
import { workerIds } from "./page-context.ts";

/** How often lines are drawn, in milliseconds: people do not read faster, and drawing costs time. */
const DRAW_MS = 200;

/** The output and log records of workers, from now on. */
export function LogsView({
	run,
	store,
	query: { worker = "", call = "" },
}: {
	readonly run: RunSnapshot | undefined;
	/** Kept outside the view, so that the lines are still there when the viewer returns. */
	readonly store: Store<LogState>;
	readonly query: Readonly<Record<string, string>>;
}) {
	const [text, setText] = useState("");
	const runId = run?.runId;
	const [log, clear] = useLog(store, runId, worker, call);
	const lines = withText(log.lines, text);
	const go = (change: Readonly<Record<string, string>>) => {
		location.hash = fragmentOf("logs", { worker, call, ...change });
	};
	if (run !== undefined && !run.scopes.includes("logs"))
		return (
			<p class="empty">
				The program does not show what its workers print. Open its run with{" "}
				<code>{'control: { scopes: ["read", "logs"] }'}</code>.
			</p>
		);
	return (
		<>
			<form class="filters" onSubmit={(event) => event.preventDefault()}>
				<label>
					Worker{" "}
					<select
						value={worker}
						onChange={({ currentTarget }) =>
							go({ worker: currentTarget.value })
						}
					>
						<option value="">all</option>
						{[...new Set([worker, ...workerIds(run)])]
							.filter((id) => id !== "")
							.map((id) => (
								<option key={id} value={id}>
									{id}
								</option>
							))}
					</select>
				</label>
				<label>
					Call{" "}
					<input
						value={call}
						placeholder="any"
						onChange={({ currentTarget }) => go({ call: currentTarget.value })}
					/>
				</label>
				<label>
					Text{" "}
					<input
						type="search"
						value={text}
						onInput={({ currentTarget }) => setText(currentTarget.value)}
					/>
				</label>
				<button type="button" onClick={clear}>
					Clear
				</button>
				<p class="count" aria-live="off">
					{whole(log.received)} lines
					{log.leftOut > 0 &&
						`, ${whole(log.leftOut)} left out: too many at a time`}
					{log.hasGap &&
						" · without what was printed while this view was closed, or left out by its filter"}
					{log.ended !== undefined && ` · ${log.ended}`}
				</p>
			</form>
			<LineList
				lines={lines}
				empty={
					log.following
						? "Nothing was printed since this view was opened."
						: "Waiting for the program…"
				}
				showCall={(id) => go({ call: id })}
			/>
		</>
	);
}

/** Follows the lines and draws them in groups. */
function useLog(
	store: Store<LogState>,
	runId: string | undefined,
	worker: string,
	call: string,
): readonly [LogState, () => void] {
	const [log, setLog] = useState(store.state);
	useEffect(() => {
		if (runId === undefined) return;
		const end = followLogs({ runId, worker, call }, store);
		setLog(store.state);
		return end;
	}, [store, runId, worker, call]);
	useEffect(() => {
		const timer = setInterval(() => setLog(store.state), DRAW_MS);
		return () => clearInterval(timer);
	}, [store]);
	return [log, () => store.update((state) => ({ ...state, ...NO_LINES }))];
}
