import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { timeOfDay } from "../../src/wording/figures.ts";
import { plainText } from "../../src/wording/plain-text.ts";
import { type NumberedLine, rowsInSight } from "../model/log-lines.ts";

/** Each line is one row of this height, which is large enough to touch; the selected line is shown in full below. */
const ROW_HEIGHT = 24;
const ROW_CHARACTERS = 400;

/** A list of which only the visible lines are in the page. It follows the end until the viewer scrolls up. */
export function LineList({
	lines,
	empty,
	showCall,
}: {
	readonly lines: readonly NumberedLine[];
	/** Shown if there are no lines. */
	readonly empty: string;
	readonly showCall: (callId: string) => void;
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
						<Row
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

function Row({
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
				<time>{timeOfDay(line.wallMs)}</time> <b>{line.workerId}</b>{" "}
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
	readonly showCall: (callId: string) => void;
}) {
	const { callId, missing, cut } = line;
	return (
		<section class="whole-line" aria-label="Chosen line">
			<p class="facts">
				<span>{line.workerId}</span>
				<span>
					{line.logger === null
						? line.from
						: `logger ${plainText(line.logger)}`}
				</span>
				{callId !== null && (
					<button type="button" class="link" onClick={() => showCall(callId)}>
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
