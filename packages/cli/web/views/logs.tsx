import type { RunSnapshot } from "@snakepit/control";
import { useEffect, useMemo, useState } from "preact/hooks";
import { whole } from "../../src/wording/figures.ts";
import { followLogs, type LogState, NO_LOG } from "../feed/log-feed.ts";
import { Store } from "../feed/store.ts";
import { NO_LINES, withText } from "../model/log-lines.ts";
import { fragmentOf } from "../model/route.ts";
import { LineList } from "./line-list.tsx";
import { workerIds } from "./page-context.ts";

/** How often lines are drawn, in milliseconds: more would cost, and nobody reads faster. */
const DRAW_MS = 200;

/** What workers print and log, from now on. */
export function LogsView({
	run,
	query: { worker = "", call = "" },
}: {
	readonly run: RunSnapshot | undefined;
	readonly query: Readonly<Record<string, string>>;
}) {
	const [text, setText] = useState("");
	const runId = run?.runId;
	const [log, clear] = useLog(runId, worker, call);
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

/** Follows the lines; they are drawn together. */
function useLog(
	runId: string | undefined,
	worker: string,
	call: string,
): readonly [LogState, () => void] {
	const store = useMemo(() => new Store(NO_LOG), []);
	const [log, setLog] = useState(store.state);
	useEffect(() => {
		if (runId === undefined) return;
		store.update(() => NO_LOG);
		setLog(NO_LOG);
		return followLogs({ runId, worker, call }, store);
	}, [store, runId, worker, call]);
	useEffect(() => {
		const timer = setInterval(() => setLog(store.state), DRAW_MS);
		return () => clearInterval(timer);
	}, [store]);
	return [log, () => store.update((state) => ({ ...state, ...NO_LINES }))];
}
