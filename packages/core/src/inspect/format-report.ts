import type { LayerReport } from "../contract/protection.ts";

/** Writes a report of `doctor` as text for people: one layer a paragraph, what would help below it. */
export function formatDoctorReport(layers: readonly LayerReport[]): string {
	const name = widest(layers.map(({ layer }) => layer));
	const state = widest(layers.map(({ status }) => status));
	return layers
		.map(({ layer, status, detail, remedy }) => {
			const line = `${layer.padEnd(name)}  ${status.padEnd(state)}  ${detail}\n`;
			return remedy === undefined
				? line
				: `${line}${" ".repeat(name + state + 4)}What helps: ${remedy}\n`;
		})
		.join("");
}

function widest(texts: readonly string[]): number {
	return Math.max(0, ...texts.map(({ length }) => length));
}
