export interface Panel {
	readonly title: string;
	readonly description?: string;
	readonly kind: "stat" | "timeseries";
	readonly unit: "s" | "percentunit" | "short" | "bytes" | "ops";
	/** From where on it is red; below that it is green. */
	readonly red?: number;
	/** Red is below instead. */
	readonly redBelow?: number;
	/** Expression and legend. */
	readonly queries: readonly (readonly [string, string])[];
}

export interface Row {
	readonly title: string;
	readonly panels: readonly Panel[];
}

export function stat(
	title: string,
	description: string,
	unit: Panel["unit"],
	more: Pick<Panel, "red" | "redBelow" | "queries">,
): Panel {
	return { title, description, kind: "stat", unit, ...more };
}

export function graph(
	title: string,
	unit: Panel["unit"],
	queries: Panel["queries"],
): Panel {
	return { title, kind: "timeseries", unit, queries };
}

/** Rows of panels on Grafana's grid of 24 columns. */
export function laidOut(rows: readonly Row[]): readonly object[] {
	const made: object[] = [];
	let y = 0;
	for (const { title, panels } of rows) {
		made.push({
			id: made.length + 1,
			type: "row",
			title,
			collapsed: false,
			gridPos: { x: 0, y, w: 24, h: 1 },
			panels: [],
		});
		y += 1;
		const columns = Math.min(panels.length, panels.length === 5 ? 5 : 3);
		const w = Math.floor(24 / columns);
		const h = panels[0]?.kind === "stat" ? 4 : 8;
		panels.forEach((panel, index) => {
			made.push({
				id: made.length + 1,
				...panelOf(panel),
				gridPos: {
					x: (index % columns) * w,
					y: y + Math.floor(index / columns) * h,
					w,
					h,
				},
			});
		});
		y += Math.ceil(panels.length / columns) * h;
	}
	return made;
}

function panelOf(panel: Panel): object {
	const { title, description, kind, unit, red, redBelow, queries } = panel;
	const steps =
		redBelow !== undefined
			? [
					{ color: "red", value: null },
					{ color: "green", value: redBelow },
				]
			: [
					{ color: "green", value: null },
					...(red === undefined ? [] : [{ color: "red", value: red }]),
				];
	return {
		type: kind,
		title,
		...(description !== undefined && { description }),
		datasource: { type: "prometheus", uid: "$datasource" },
		fieldConfig: {
			defaults: { unit, min: 0, thresholds: { mode: "absolute", steps } },
			overrides: [],
		},
		options:
			kind === "stat"
				? { reduceOptions: { calcs: ["lastNotNull"] }, colorMode: "value" }
				: { legend: { displayMode: "list", placement: "bottom" } },
		targets: queries.map(([expr, legendFormat], index) => ({
			refId: String.fromCharCode(65 + index),
			expr,
			legendFormat,
		})),
	};
}

export function variable(name: string, query: string): object {
	return {
		name,
		type: "query",
		datasource: { type: "prometheus", uid: "$datasource" },
		query: { query, refId: name },
		refresh: 2,
		multi: true,
		includeAll: true,
		allValue: ".*",
		current: { text: "All", value: "$__all" },
	};
}
