/** A host with one server; see host-killed.test.ts. Prints a line when a call runs. */
import { createPool } from "@snakepit/core";
import { MARK } from "../../../scripts/marked-host.ts";
import { type HttpOptions, http } from "../src/index.ts";

const [dataDir, options = "{}"] = process.argv.slice(2);
const pool = await createPool({
	dataDir,
	adapter: http({
		...(JSON.parse(options) as HttpOptions),
		inheritEnv: [MARK],
	}),
	size: 1,
	output: { echo: "none" },
	onEvent: (event) => {
		if (event.type === "worker.output" && event.line === "begun")
			console.log("A call runs.");
	},
});
await pool.execute("POST /sleep");
