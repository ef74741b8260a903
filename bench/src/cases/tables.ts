import { fileURLToPath } from "node:url";
import { python } from "@snakepit/adapter-python";
import { tablesPython } from "../../../scripts/tables-python.ts";
import { type Case, type Figures, lower, type Setting } from "../case.ts";
import { openPoolOf } from "../contestants/ours.ts";
import { callRepeatedly } from "../measure.ts";

const ROWS = 200_000;
const TIMES = 100_000;

/** What crosses: the kind and number of what the worker makes, and the tools that give and take it. */
interface Crossing {
	readonly kind: string;
	readonly count: number;
	readonly give: string;
	readonly take: string;
}

const frame = { kind: "frame", count: ROWS };
const CROSSINGS: Readonly<Record<string, Crossing>> = {
	"data frame, Arrow": { ...frame, give: "give", take: "take_frame" },
	'data frame, to_dict("records")': {
		...{ ...frame, give: "give_records", take: "take_records" },
	},
	...Object.fromEntries(
		["texts", "instants", "dates and times"].map((kind) => [
			`${TIMES.toLocaleString("en")} ${kind}`,
			{ kind, count: TIMES, give: "give", take: "take" },
		]),
	),
};

export const tables: Case = {
	name: "tables",
	title: "Tables and times",
	about: `A pandas data frame with ${ROWS.toLocaleString("en")} rows and four columns, as a table and as a list of objects; and ${TIMES.toLocaleString("en")} times, as times and as text.`,
	figures: {
		give_ms: lower("to the host", "ms"),
		take_ms: lower("to the worker", "ms"),
	},
	rows: Object.entries(CROSSINGS).map(([name, crossing]) => ({
		name,
		measure: (setting) => measure(crossing, setting),
	})),
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
	// The least: others on the machine only add to it.
	const least = async (call: () => Promise<unknown>): Promise<number> =>
		(await callRepeatedly(call, pace.measureMs)).leastMs;
	const figures = {
		give_ms: await least(() => pool.execute(give)),
		take_ms: await least(() => pool.execute(take, [value])),
	};
	if ((await pool.execute(take, [value])) !== count)
		throw new Error("not all of it arrived");
	return figures;
}
