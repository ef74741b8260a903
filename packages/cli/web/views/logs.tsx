import type { RunSnapshot } from "@snakepit/control";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { plainText, timeOfDay, whole } from "../../src/wording/figures.ts";
import { followLogs, type LogState } from "../feed/log-feed.ts";
import type { Store } from "../feed/store.ts";
import { fragmentOf } from "../model/addresses.ts";
import {
	type LogFilter,
	NO_LINES,
	type NumberedLine,
	rowsInSight,
	withText,
} from "../model/log-lines.ts";
import { Name } from "./name.tsx";
import { workerIds } from "./page-context.ts";

/** How often lines are drawn, in milliseconds: people do not read faster, and drawing costs time. */
const DRAW_MS = 200;

/** The output and log records of workers: the last lines that the program keeps, and each new one. */
export function LogsView({
	run,
	store,
	query: { worker = "", call = "", pool = "" },
}: {
	readonly run: RunSnapshot | undefined;
	/** Kept outside the view: the lines are still there when the program has ended, and the viewer returns. */
	readonly store: Store<LogState>;
	readonly query: Readonly<Record<string, string>>;
}) {
	const [text, setText] = useState("");
	const runId = run?.runId;
	const [log, clear] = useLog(store, runId, { worker, call, pool });
	const lines = withText(log.lines, text);
	const pools = run?.pools.map(({ pool }) => pool) ?? [];
	const go = (change: Readonly<Record<string, string>>) => {
		location.hash = fragmentOf("logs", { worker, call, pool, ...change });
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
				{(pools.length > 1 || pool !== "") && (
					<label>
						Pool{" "}
						<select
							value={pool}
							onChange={({ currentTarget }) =>
								go({ pool: currentTarget.value, worker: "" })
							}
						>
							<option value="">all</option>
							{[...new Set([pool, ...pools])]
								.filter((name) => name !== "")
								.map((name) => (
									<option key={name} value={name}>
										{plainText(name)}
									</option>
								))}
						</select>
					</label>
				)}
				<label>
					Worker{" "}
					<select
						value={worker}
						onChange={({ currentTarget }) =>
							go({ worker: currentTarget.value })
						}
					>
						<option value="">all</option>
						{[...new Set([worker, ...workerIds(run, pool)])]
							.filter((id) => id !== "")
							.map((id) => (
								<option key={id} value={id}>
									{plainText(id)}
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
					{log.dropped > 0 &&
						`, without ${whole(log.dropped)} earlier ones that are not kept any more`}
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
					log.following ? "Nothing was printed." : "Waiting for the program…"
				}
				showCall={(line) => go({ call: line.callId ?? "", pool: line.pool })}
			/>
		</>
	);
}

/** Follows the lines and draws them in groups. */
function useLog(
	store: Store<LogState>,
	runId: string | undefined,
	{ worker, call, pool }: LogFilter,
): readonly [LogState, () => void] {
	const [log, setLog] = useState(store.state);
	useEffect(() => {
		if (runId === undefined) return;
		const end = followLogs({ runId, worker, call, pool }, store);
		setLog(store.state);
		return end;
	}, [store, runId, worker, call, pool]);
	useEffect(() => {
		const timer = setInterval(() => setLog(store.state), DRAW_MS);
		return () => clearInterval(timer);
	}, [store]);
	return [log, () => store.update((state) => ({ ...state, ...NO_LINES }))];
}

/** Each line is one row of this height, which is large enough to touch; the selected line is shown in full below. */
const ROW_HEIGHT = 24;
const ROW_CHARACTERS = 400;

/** A list of which only the visible lines are in the page. It follows the end until the viewer scrolls up. */
function LineList({
	lines,
	empty,
	showCall,
}: {
	readonly lines: readonly NumberedLine[];
	/** Shown if there are no lines. */
	readonly empty: string;
	readonly showCall: (line: NumberedLine) => void;
}) {
	const frame = useRef<HTMLDivElement>(null);
	const [place, setPlace] = useState({ top: 0, height: 400 });
	const [following, setFollowing] = useState(true);
	const [chosen, setChosen] = useState<NumberedLine>();
	useLayoutEffect(() => {
		const element = frame.current;
		if (element === null) return;
		if (following) element.scrollTop = element.scrollHeight;
		setPlace({ top: element.scrollTop, height: element.clientHeight });
	}, [following, lines.at(-1)?.number, lines.length]);
	const scrolled = ({ currentTarget }: { currentTarget: HTMLElement }) => {
		const { scrollTop, clientHeight, scrollHeight } = currentTarget;
		setPlace({ top: scrollTop, height: clientHeight });
		setFollowing(scrollTop + clientHeight >= scrollHeight - ROW_HEIGHT);
	};
	const { first, end } = rowsInSight(
		lines.length,
		ROW_HEIGHT,
		place.top,
		place.height,
	);
	return (
		<>
			<div
				class="lines"
				ref={frame}
				onScroll={scrolled}
				// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard.
				tabIndex={0}
				role="log"
				aria-live="off"
				aria-label="Lines"
			>
				<ol style={{ height: `${lines.length * ROW_HEIGHT}px` }}>
					{lines.slice(first, end).map((line, index) => (
						<LineRow
							key={line.number}
							line={line}
							top={(first + index) * ROW_HEIGHT}
							isChosen={line.number === chosen?.number}
							choose={() =>
								setChosen(line.number === chosen?.number ? undefined : line)
							}
						/>
					))}
				</ol>
				{lines.length === 0 && <p class="empty">{empty}</p>}
			</div>
			<div class="line-acts">
				<button
					type="button"
					aria-pressed={following}
					onClick={() => setFollowing(!following)}
				>
					{following ? "Following" : "Follow"}
				</button>
			</div>
			{chosen && <WholeLine line={chosen} showCall={showCall} />}
		</>
	);
}

function LineRow({
	line,
	top,
	isChosen,
	choose,
}: {
	readonly line: NumberedLine;
	readonly top: number;
	readonly isChosen: boolean;
	readonly choose: () => void;
}) {
	const [start = ""] = line.text.slice(0, ROW_CHARACTERS).split("\n", 1);
	return (
		<li
			style={{ top: `${top}px` }}
			data-from={line.from}
			data-level={levelOf(line)}
		>
			<button type="button" aria-pressed={isChosen} onClick={choose}>
				<time>{timeOfDay(line.wallMs)}</time>{" "}
				<b>
					<Name text={line.workerId} focus="parent" />
				</b>{" "}
				<span>
					{line.level !== null && `${line.level} `}
					{plainText(start)}
				</span>
			</button>
		</li>
	);
}

function levelOf({ level, from }: NumberedLine): string {
	const name = level?.toLowerCase() ?? "";
	if (/^(error|critical|fatal)/.test(name)) return "bad";
	if (name.startsWith("warn")) return "warn";
	return from === "stderr" ? "stderr" : "plain";
}

function WholeLine({
	line,
	showCall,
}: {
	readonly line: NumberedLine;
	readonly showCall: (line: NumberedLine) => void;
}) {
	const { callId, missing, cut } = line;
	return (
		<section class="whole-line" aria-label="Chosen line">
			<p class="facts">
				<span>
					<Name text={line.workerId} />
				</span>
				<span>
					{line.logger === null
						? line.from
						: `logger ${plainText(line.logger)}`}
				</span>
				{callId !== null && (
					<button type="button" class="link" onClick={() => showCall(line)}>
						lines of call {callId}
					</button>
				)}
			</p>
			<pre>
				{plainText(line.text)}
				{missing > 0 && `\n… ${missing} more characters`}
				{cut && "\n… the line was longer, and is cut"}
			</pre>
		</section>
	);
}
