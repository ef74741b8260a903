import { useEffect, useReducer, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { timeOfDay } from "../../src/wording/figures.ts";
import type { ChartData } from "../model/chart-data.ts";

const HEIGHT = 200;
const FONT = "12px system-ui, sans-serif";

/** Lines over time, with a legend that shows the values under the pointer, otherwise the latest ones. */
export function Chart({
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
		const made = new uPlot(optionsOf(element, labels, format), values, element);
		plot.current = made;
		const sizes = new ResizeObserver(() =>
			made.setSize({ width: element.clientWidth, height: HEIGHT }),
		);
		sizes.observe(element);
		return () => {
			sizes.disconnect();
			made.destroy();
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
			{ ...axis, space: 80, values: (_, ticks) => ticks.map(timeAt) },
			{ ...axis, size: 68, values: (_, ticks) => ticks.map(format) },
		],
		scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
		series: [
			{
				label: "Time",
				value: (_, seconds) => (seconds === null ? "–" : timeAt(seconds)),
			},
			...labels.map((label, index) => ({
				label,
				stroke: color(`--line-${index + 1}`),
				width: 2,
				points: { show: false },
				value: (_: uPlot, value: number | null) =>
					value === null || value === undefined ? "–" : format(value),
			})),
		],
	};
}

function timeAt(seconds: number): string {
	return timeOfDay(seconds * 1_000);
}
