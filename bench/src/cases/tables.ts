import { fileURLToPath } from "node:url";
import { python } from "@snakepit/adapter-python";
import { tablesPython } from "../../../scripts/tables-python.ts";
import {
	type Case,
	type Figures,
	lower,
	type Row,
	type Setting,
} from "../case.ts";
import { openPoolOf } from "../contestants/ours.ts";

const ROWS = 200_000;
const TIMES = 100_000;

/** What crosses, and the tools that give and take it. */
interface Crossing {
	readonly name: string;
	/** What the worker makes. */
	readonly kind: string;
	readonly count: number;
	readonly give: string;
	readonly take: string;
}

const times = (kind: string): Crossing => ({
	name: `${TIMES.toLocaleString("en")} ${kind}`,
	kind,
	count: TIMES,
	give: "give",
	take: "take",
});

const texts = times("texts");
const instants = times("instants");
const datesAndTimes = times("dates and times");
const records: Crossing = {
	name: 'data frame, to_dict("records")',
	kind: "frame",
	count: ROWS,
	give: "give_records",
	take: "take_records",
};
const arrow: Crossing = {
	...records,
	name: "data frame, Arrow",
	give: "give",
	take: "take_frame",
};

export const tables: Case = {
	name: "tables",
	title: "Tables and times",
	about: `A pandas data frame with ${ROWS.toLocaleString("en")} rows and four columns, as a table and as a list of objects; and ${TIMES.toLocaleString("en")} times, as times and as text.`,
	figures: {
		give_ms: lower("to the host", "ms"),
		take_ms: lower("to the worker", "ms"),
	},
	rows: [arrow, records, texts, instants, datesAndTimes].map(
		(crossing): Row => ({
			name: crossing.name,
			measure: (setting) => measure(crossing, setting),
		}),
	),
};

async function measure(
	{ kind, count, give, take }: Crossing,
	{ pace }: Setting,
): Promise<Figures> {
	const interpreter = tablesPython();
	if (interpreter === undefined)
		throw new Error("pandas and pyarrow could not be installed");
	const tools = fileURLToPath(
		new URL("../python/table_tools.py", import.meta.url),
	);
	await using pool = await openPoolOf({
		adapter: python({
			python: interpreter,
			tools,
			maxMessageBytes: 256 * 1024 * 1024,
		}),
		size: 1,
	});
	await pool.execute("make", [kind, count]);
	const value = await pool.execute(give);
	const figures = {
		give_ms: await leastMs(pace.measureMs, () => pool.execute(give)),
		take_ms: await leastMs(pace.measureMs, () => pool.execute(take, [value])),
	};
	if ((await pool.execute(take, [value])) !== count)
		throw new Error("not all of it arrived");
	return figures;
}

/** The least time of three calls at least: others on the machine only add to it. */
async function leastMs(
	ms: number,
	call: () => Promise<unknown>,
): Promise<number> {
	const begin = performance.now();
	let least = Number.POSITIVE_INFINITY;
	for (let i = 0; i < 3 || performance.now() - begin < ms; i++) {
		const before = performance.now();
		await call();
		least = Math.min(least, performance.now() - before);
	}
	return least;
}
