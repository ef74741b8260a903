// A program that calls a tool which stops at a breakpoint(): prints the pid of its worker, that it waits, and its answer.
import { createPool } from "@snakepit/core";
import { type PythonOptions, python } from "../../src/index.ts";

const [tools = "", program = "", dataDir = "", debug = ""] =
	process.argv.slice(2);
const pool = await createPool({
	adapter: python({
		tools,
		python: program,
		debug: JSON.parse(debug) as PythonOptions["debug"],
	}),
	dataDir,
	onEvent: (event) => {
		if (event.type === "worker.output" && event.line.startsWith("breakpoint()"))
			process.stdout.write("It waits for a person.\n");
	},
});
process.stderr.write(`worker ${pool.workers()[0]?.pid}.\n`);
const mean = await pool.execute("mean", { numbers: [1, 2, 6] });
process.stdout.write(`The mean is ${mean}.\n`);
await pool.close();
