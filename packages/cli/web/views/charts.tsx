import type { RunSnapshot } from "@snakepit/control";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import {
	bytes,
	duration,
	rate,
	timeOfDay,
	whole,
} from "../../src/wording/figures.ts";
import {
	type ChartData,
	type ChartHistory,
	type CommandRow,
	commandRows,
	type HistogramBar,
	latencyData,
	memoryData,
	throughputData,
	windowOf,
} from "../model/chart-data.ts";
import { Name, shortName } from "./name.tsx";
import { workerIds } from "./page-context.ts";

const WINDOWS: readonly (readonly [string, number])[] = [
	["1 min", 60_000],
	["5 min", 300_000],
	["15 min", 900_000],
	["1 h", 3_600_000],
	["3 h", 3 * 3_600_000],
	["24 h", 24 * 3_600_000],
];
const LABEL_CHARACTERS = 30;
const PART_CHARACTERS = 18;

/** Throughput, durations and memory of the last minutes or hours. */
export function ChartsView({
	history,
	run,
}: {
	readonly history: ChartHistory;
	readonly run: RunSnapshot | undefined;
}) {
	const [windowMs, setWindow] = useState(300_000);
	const [chosen, setChosen] = useState<number>();
	const [wantedPool, setPool] = useState("");
	const pools = [
		...new Set([
			...(run?.pools.map(({ pool }) => pool) ?? []),
			...history.commands.map(({ pool }) => pool),
		]),
	].filter((pool) => pool !== "");
	const pool = pools.find((each) => each === wantedPool);
	const shown = windowOf(history, windowMs, pool);
	const rows = commandRows(shown);
	const row = rows.find(({ number }) => number === chosen);
	const since = history.tiers.at(-1)?.[0]?.wallMs;
	return (
		<>
			<div class="filters">
				<fieldset class="choices">
					<legend class="hidden">Window</legend>
					{WINDOWS.map(([label, ms]) => (
						<label key={label}>
							<input
								type="radio"
								name="window"
								checked={ms === windowMs}
								onChange={() => setWindow(ms)}
							/>
							{label}
						</label>
					))}
				</fieldset>
				{pools.length > 1 && (
					<label>
						Pool{" "}
						<select
							value={pool ?? ""}
							onChange={({ currentTarget }) => setPool(currentTarget.value)}
						>
							<option value="">all</option>
							{pools.map((name) => (
								<option key={name} value={name}>
									{name}
								</option>
							))}
						</select>
					</label>
				)}
				{since !== undefined && (
					<small>since this page was opened, at {timeOfDay(since)}</small>
				)}
			</div>
			<div class="charts">
				<Chart
					title="Calls a second"
					data={throughputData(shown, rows)}
					format={rate}
				/>
				<Chart
					title={`Duration of ${row === undefined ? "all commands" : shortName(row.name, 60)}, waiting included`}
					data={latencyData(shown, row?.number)}
					format={duration}
				/>
				<Chart
					title="Memory of workers"
					data={memoryData(
						shown,
						pool === undefined ? undefined : workerIds(run, pool),
					)}
					format={bytes}
				/>
			</div>
			<Commands
				rows={rows}
				hasPools={pools.length > 1 && pool === undefined}
				chosen={row?.number}
				choose={setChosen}
			/>
		</>
	);
}

function Commands({
	rows,
	hasPools,
	chosen,
	choose,
}: {
	readonly rows: readonly CommandRow[];
	/** Whether commands of several pools are shown. */
	readonly hasPools: boolean;
	readonly chosen: number | undefined;
	readonly choose: (number: number | undefined) => void;
}) {
	if (rows.length === 0)
		return <p class="empty">No call has ended while this page was open.</p>;
	return (
		<div class="table-frame">
			<table>
				<thead>
					<tr>
						<th scope="col">Command</th>
						{hasPools && <th scope="col">Pool</th>}
						<th scope="col" class="number">
							Calls/s
						</th>
						<th scope="col" class="number">
							Failed
						</th>
						<th scope="col" class="number">
							p50
						</th>
						<th scope="col" class="number">
							p95
						</th>
						<th scope="col" class="number">
							p99
						</th>
						<th scope="col">Durations</th>
					</tr>
				</thead>
				<tbody>
					{rows.map((row) => (
						<tr
							key={row.number}
							data-command={row.command}
							data-pool={row.pool}
						>
							<th scope="row">
								<button
									type="button"
									class="link"
									aria-pressed={row.number === chosen}
									onClick={() =>
										choose(row.number === chosen ? undefined : row.number)
									}
								>
									<Name text={row.command} focus="parent" />
								</button>
							</th>
							{hasPools && (
								<td data-label="Pool">
									<Name text={row.pool} />
								</td>
							)}
							<td data-label="Calls/s" class="number">
								{rate(row.perSecond)}
							</td>
							<td
								data-label="Failed"
								class="number"
								data-tone={row.failed > 0 ? "bad" : undefined}
							>
								{whole(row.failed)}
							</td>
							<Quantile label="p50" ms={row.p50} />
							<Quantile label="p95" ms={row.p95} />
							<Quantile label="p99" ms={row.p99} />
							<td data-label="Durations">
								<Histogram bars={row.histogram} />
							</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

function Quantile({
	label,
	ms,
}: {
	readonly label: string;
	readonly ms: number | undefined;
}) {
	return (
		<td data-label={label} class="number">
			{ms === undefined ? "–" : duration(ms)}
		</td>
	);
}

const BAR = { width: 6, gap: 1, height: 28 };

function Histogram({ bars }: { readonly bars: readonly HistogramBar[] }) {
	const most = Math.max(...bars.map(({ calls }) => calls));
	const [first] = bars;
	const last = bars.at(-1);
	if (first === undefined || last === undefined) return null;
	const range = `${duration(first.fromMs)} to ${duration(last.toMs)}`;
	return (
		<svg
			class="histogram"
			role="img"
			aria-label={`Durations from ${range}`}
			width={bars.length * (BAR.width + BAR.gap)}
			height={BAR.height}
		>
			{bars.map(({ fromMs, toMs, calls }, index) => {
				const height =
					calls === 0 ? 0 : Math.max(1, (calls / most) * BAR.height);
				return (
					<rect
						key={fromMs}
						x={index * (BAR.width + BAR.gap)}
						y={BAR.height - height}
						width={BAR.width}
						height={height}
					>
						<title>
							{duration(fromMs)} to {duration(toMs)}: {whole(calls)}
						</title>
					</rect>
				);
			})}
		</svg>
	);
}

const HEIGHT = 200;
const FONT = "12px system-ui, sans-serif";

/** Lines over time, with a legend that shows the values under the pointer, otherwise the latest ones. */
function Chart({
	title,
	data: { labels, x, lines },
	format,
}: {
	readonly title: string;
	readonly data: ChartData;
	readonly format: (value: number) => string;
}) {
	const frame = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot>(null);
	const values = [
		[...x],
		...lines.map((line) => [...line]),
	] as uPlot.AlignedData;
	const names = labels.join("\n");
	// A plot does not follow the theme: a new theme needs a new plot.
	const [theme, changeTheme] = useReducer((changes: number) => changes + 1, 0);
	useEffect(() => {
		const system = matchMedia("(prefers-color-scheme: dark)");
		const change = () => changeTheme(undefined);
		system.addEventListener("change", change);
		const chosen = new MutationObserver(change);
		chosen.observe(document.documentElement, { attributes: true });
		return () => {
			system.removeEventListener("change", change);
			chosen.disconnect();
		};
	}, []);
	useEffect(() => {
		const element = frame.current;
		if (element === null) return;
		const chart = new uPlot(
			optionsOf(element, labels, format),
			values,
			element,
		);
		plot.current = chart;
		const sizes = new ResizeObserver(() =>
			chart.setSize({ width: element.clientWidth, height: HEIGHT }),
		);
		sizes.observe(element);
		return () => {
			sizes.disconnect();
			chart.destroy();
		};
		// New lines need a new plot; new values do not.
	}, [names, theme]);
	useEffect(() => {
		plot.current?.setData(values);
		if (plot.current?.over.matches(":hover") === false && x.length > 0)
			plot.current.setLegend({ idx: x.length - 1 });
	});
	return (
		<figure class="chart">
			<figcaption>{title}</figcaption>
			<div ref={frame} role="img" aria-label={title} />
			{labels.length === 0 && <p class="empty">Nothing yet.</p>}
		</figure>
	);
}

function optionsOf(
	element: HTMLElement,
	labels: readonly string[],
	format: (value: number) => string,
): uPlot.Options {
	// A CSS variable is read as it is written; used as a colour, it is resolved for the theme.
	const color = (name: string) => () => {
		element.style.color = `var(${name})`;
		const { color } = getComputedStyle(element);
		element.style.color = "";
		return color;
	};
	const axis: uPlot.Axis = {
		stroke: color("--muted"),
		font: FONT,
		grid: { stroke: color("--grid"), width: 1 },
		ticks: { stroke: color("--grid"), width: 1 },
	};
	return {
		width: element.clientWidth,
		height: HEIGHT,
		legend: { live: true },
		cursor: { points: { show: false } },
		axes: [
			{ ...axis, space: 80, values: timesAt },
			{ ...axis, size: 68, values: (_, ticks) => ticks.map(format) },
		],
		scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
		series: [
			{
				label: "Time",
				value: (_, seconds) => (seconds === null ? "–" : timeAt(seconds)),
			},
			...labels.map((label, index) => ({
				label: shortLabel(label),
				stroke: color(`--line-${index + 1}`),
				width: 2,
				points: { show: false },
				value: (_: uPlot, value: number | null) =>
					value === null || value === undefined ? "–" : format(value),
			})),
		],
	};
}

/** A command with its pool, of both as much as tells it from others. */
function shortLabel(label: string): string {
	const [first = "", ...rest] = label.split(": ");
	return rest.length === 0
		? shortName(first, LABEL_CHARACTERS)
		: `${shortName(first, PART_CHARACTERS)}: ${shortName(rest.join(": "), PART_CHARACTERS)}`;
}

function timeAt(seconds: number): string {
	return timeOfDay(seconds * 1_000);
}

/** The ticks of an axis: without seconds where all are at whole minutes. */
function timesAt(_: uPlot, ticks: readonly number[]): string[] {
	const isWhole = ticks.every((seconds) => seconds % 60 === 0);
	return ticks.map((seconds) => timeAt(seconds).slice(0, isWhole ? 5 : 8));
}
