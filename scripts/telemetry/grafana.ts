type Unit = "s" | "percentunit" | "short" | "bytes" | "ops";
/** Expressions by their legends. */
type Queries = Readonly<Record<string, string>>;

/** A panel without its place. */
type Panel = Readonly<Record<string, unknown>>;

export interface Row {
	readonly title: string;
	readonly panels: readonly Panel[];
}

/** One figure; red from `red` on, or below `redBelow`, and green elsewhere. */
export function stat(
	title: string,
	description: string,
	unit: Unit,
	limit: { readonly red: number } | { readonly redBelow: number },
	queries: Queries,
): Panel {
	const steps =
		"red" in limit
			? [
					{ color: "green", value: null },
					{ color: "red", value: limit.red },
				]
			: [
					{ color: "red", value: null },
					{ color: "green", value: limit.redBelow },
				];
	return {
		...{ type: "stat", title, description, ...measured(unit, steps) },
		options: {
			reduceOptions: { calcs: ["lastNotNull"] },
			colorMode: "value",
		},
		targets: targets(queries),
	};
}

/** Lines over time. */
export function graph(title: string, unit: Unit, queries: Queries): Panel {
	return {
		...{ type: "timeseries", title },
		...measured(unit, [{ color: "green", value: null }]),
		options: { legend: { displayMode: "list", placement: "bottom" } },
		targets: targets(queries),
	};
}

function measured(unit: Unit, steps: readonly object[]): Panel {
	return {
		datasource: { type: "prometheus", uid: "$datasource" },
		fieldConfig: {
			defaults: { unit, min: 0, thresholds: { mode: "absolute", steps } },
			overrides: [],
		},
	};
}

function targets(queries: Queries): readonly object[] {
	return Object.entries(queries).map(([legendFormat, expr], index) => ({
		refId: String.fromCharCode(65 + index),
		expr,
		legendFormat,
	}));
}

/** Rows of panels on Grafana's grid of 24 columns. */
export function laidOut(rows: readonly Row[]): readonly object[] {
	const made: object[] = [];
	let y = 0;
	for (const { title, panels } of rows) {
		made.push({
			...{ id: made.length + 1, type: "row", title, collapsed: false },
			gridPos: { x: 0, y, w: 24, h: 1 },
			panels: [],
		});
		y += 1;
		const columns = Math.min(panels.length, panels.length === 5 ? 5 : 3);
		const w = Math.floor(24 / columns);
		const h = panels[0]?.["type"] === "stat" ? 4 : 8;
		for (const [index, panel] of panels.entries()) {
			const x = (index % columns) * w;
			const gridPos = { x, y: y + Math.floor(index / columns) * h, w, h };
			made.push({ id: made.length + 1, ...panel, gridPos });
		}
		y += Math.ceil(panels.length / columns) * h;
	}
	return made;
}

export function variable(name: string, query: string): object {
	return {
		...{ name, type: "query" },
		datasource: { type: "prometheus", uid: "$datasource" },
		query: { query, refId: name },
		...{ refresh: 2, multi: true, includeAll: true, allValue: ".*" },
		current: { text: "All", value: "$__all" },
	};
}
