import type { CaseResult, RowResult } from "../result.ts";
import { formatFigure } from "./format-figure.ts";

const WIDTH = 920;
const NAME_WIDTH = 320;
const VALUE_WIDTH = 110;
const BAR_HEIGHT = 16;
const ROW_HEIGHT = 24;
const HEAD_HEIGHT = 46;
const SPAN = WIDTH - NAME_WIDTH - VALUE_WIDTH;

/** Readable on white and on black. */
const STYLE = `text{font:13px system-ui,sans-serif;fill:#222}
.title{font-weight:600;font-size:15px}.quiet{fill:#666}
.limit{fill:#9aa5b1}.bare{fill:#d1a15b}.ours{fill:#2f7d4f}.peer{fill:#7f8fd0}
line{stroke:#222;stroke-width:1.5}
@media(prefers-color-scheme:dark){text{fill:#ddd}.quiet{fill:#999}line{stroke:#ddd}}`;

/** Bars of medians with their least and most, on a logarithmic scale, one panel for each case. */
export function drawPlot(cases: readonly CaseResult[]): string {
	const parts: string[] = [];
	let y = 0;
	for (const one of cases) {
		const panel = drawPanel(one, y);
		parts.push(...panel.parts);
		y = panel.end;
	}
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}">
<title>Benchmarks: medians of each case, with the least and the most</title>
<style>${STYLE}</style>
${parts.join("\n")}
</svg>
`;
}

function drawPanel(
	one: CaseResult,
	top: number,
): { readonly parts: string[]; readonly end: number } {
	const spec = one.figures[one.plot];
	const rows = one.rows.filter((row) => row.figures[one.plot] !== undefined);
	if (spec === undefined || rows.length === 0) return { parts: [], end: top };
	const values = rows.flatMap((row) => {
		const spread = row.figures[one.plot];
		return spread === undefined ? [] : [spread.min, spread.max];
	});
	const scale = logarithmic(values.filter((value) => value > 0));
	const title = `${one.title}: ${spec.title} [${spec.unit}], ${spec.better} is better`;
	const parts = [text(0, top + 28, asXmlText(title), "title")];
	let y = top + HEAD_HEIGHT;
	for (const row of rows) {
		parts.push(...drawRow(row, one.plot, y, scale));
		y += ROW_HEIGHT;
	}
	return { parts, end: y };
}

function drawRow(
	row: RowResult,
	figure: string,
	y: number,
	scale: (value: number) => number,
): string[] {
	const spread = row.figures[figure];
	if (spread === undefined) return [];
	const { median, min, max } = spread;
	const middle = y + BAR_HEIGHT / 2;
	const end = NAME_WIDTH + scale(median);
	const left = NAME_WIDTH + scale(min);
	const right = NAME_WIDTH + scale(max);
	return [
		text(
			0,
			middle + 4,
			asXmlText(row.name),
			row.kind === "ours" ? "" : "quiet",
		),
		`<rect class="${row.kind}" x="${NAME_WIDTH}" y="${y}" width="${(end - NAME_WIDTH).toFixed(1)}" height="${BAR_HEIGHT}"/>`,
		`<line x1="${left.toFixed(1)}" y1="${middle}" x2="${right.toFixed(1)}" y2="${middle}"/>`,
		text(Math.max(end, right) + 8, middle + 4, formatFigure(median), ""),
	];
}

/** From a decade's begin below the least to the most. */
function logarithmic(values: readonly number[]): (value: number) => number {
	if (values.length === 0) return () => 0;
	const low = 10 ** Math.floor(Math.log10(Math.min(...values)) - 0.05);
	const decades = Math.log10(Math.max(...values) / low) || 1;
	return (value) =>
		value <= low ? 0 : (Math.log10(value / low) / decades) * SPAN;
}

function text(x: number, y: number, content: string, style: string): string {
	return `<text x="${x.toFixed(1)}" y="${y}" class="${style}">${content}</text>`;
}

function asXmlText(content: string): string {
	return content
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;");
}
