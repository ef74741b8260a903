import { useState } from "preact/hooks";
import { bytes, duration, rate, whole } from "../../src/wording/figures.ts";
import { plainStart } from "../../src/wording/plain-text.ts";
import {
	latencyData,
	memoryData,
	throughputData,
} from "../model/chart-data.ts";
import {
	type CommandRow,
	commandRows,
	type HistogramBar,
} from "../model/command-rows.ts";
import { type Bin, latest } from "../model/samples.ts";
import { Chart } from "./chart.tsx";

const WINDOWS: readonly (readonly [string, number])[] = [
	["1 min", 60_000],
	["5 min", 300_000],
	["15 min", 900_000],
];
const NAME_CHARACTERS = 100;

/** Throughput, durations and memory of the last minutes. */
export function ChartsView({ bins }: { readonly bins: readonly Bin[] }) {
	const [windowMs, setWindow] = useState(300_000);
	const [chosen, setChosen] = useState("");
	const shown = latest(bins, windowMs);
	const rows = commandRows(shown);
	const key = rows.some((row) => row.key === chosen) ? chosen : undefined;
	const name = rows.find((row) => row.key === key)?.command ?? "all commands";
	return (
		<>
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
				<small>since this page was opened, from acceptance to settlement</small>
			</fieldset>
			<Commands rows={rows} chosen={key} choose={setChosen} />
			<div class="charts">
				<Chart
					title="Calls a second"
					data={throughputData(shown)}
					format={rate}
				/>
				<Chart
					title={`Duration of ${plainStart(name, NAME_CHARACTERS)}`}
					data={latencyData(shown, key)}
					format={duration}
				/>
				<Chart
					title="Memory of workers"
					data={memoryData(shown)}
					format={bytes}
				/>
			</div>
		</>
	);
}

function Commands({
	rows,
	chosen,
	choose,
}: {
	readonly rows: readonly CommandRow[];
	readonly chosen: string | undefined;
	readonly choose: (key: string) => void;
}) {
	if (rows.length === 0)
		return <p class="empty">No call has ended while this page was open.</p>;
	return (
		<div class="table-frame">
			<table>
				<thead>
					<tr>
						<th scope="col">Command</th>
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
						<tr key={row.key} data-command={row.command}>
							<th scope="row">
								<button
									type="button"
									class="link"
									aria-pressed={row.key === chosen}
									onClick={() => choose(row.key === chosen ? "" : row.key)}
								>
									{plainStart(row.command, NAME_CHARACTERS)}
								</button>
							</th>
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
