import { join } from "node:path";
import { python, pythonEnvironment } from "@snakepit/adapter-python";
import { createPool } from "@snakepit/core";
import type { Table } from "apache-arrow";
import type { Tools } from "./gen/tools.ts";
import { readingsOf } from "./readings.ts";

/** Has pandas, pyarrow and the bridge, as the one that is made here has. */
const [interpreter] = process.argv.slice(2);
const requirements = [
	join(import.meta.dirname, "../../../python"),
	"pandas",
	"pyarrow",
];
await using pool = await createPool<Tools>({
	adapter: python({
		tools: join(import.meta.dirname, "../tools.py"),
		python: interpreter,
		environment: interpreter ? undefined : pythonEnvironment({ requirements }),
	}),
	size: 2,
});

/** Made no faster than the workers take them. */
function* weeks() {
	for (let week = 0; week < 4; week++) yield { readings: readingsOf(week) };
}

const results: Table[] = [];
for await (const days of pool.map("days", weeks())) {
	console.log(`week ${results.length + 1}: ${days.numRows} days of stations`);
	results.push(days);
}
const days = results.reduce((before, next) => before.concat(next));

const rows = await pool.execute("stations", { days });
for (const { station, days, mean, greatest } of rows)
	console.log(
		`${station}: ${days} days, mean ${mean} °C, ${greatest} °C at most`,
	);
const missing = days.getChild("missing")?.toArray() as BigInt64Array;
console.log(
	`${missing.reduce((sum, count) => sum + count)} readings are missing`,
);
