/** A host of workers that need a companion; see closing.test.ts. Prints their pids, and exits when its input ends. */
import { createPool } from "../../src/run/open-run.ts";
import { accompaniedAdapter } from "./accompanied-adapter.ts";

const [dataDir = "", habits = ""] = process.argv.slice(2);
const pids: number[] = [];
const pool = await createPool({
	adapter: accompaniedAdapter(habits),
	dataDir,
	size: 2,
	heartbeat: "off",
	onEvent: (event) => {
		if (event.type === "companion.started") pids.push(event.pid);
	},
});
pids.push(...pool.workers().flatMap(({ pid }) => pid ?? []));
console.log(JSON.stringify(pids));
process.stdin.resume().on("end", () => process.exit(0));
