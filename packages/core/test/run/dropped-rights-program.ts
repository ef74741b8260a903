/** Opens a pool as root, becomes another user, and prints what became of the pool. */
import { statSync } from "node:fs";
import { createPool } from "../../src/index.ts";
import { EventRecorder } from "../../src/testing.ts";
import { CAPITALS } from "../guard/capitals.ts";

const [, , dataDir = "", guard = "off"] = process.argv;
const NOBODY = 65_534;
const events = new EventRecorder();
const pool = await createPool({
	...{ adapter: CAPITALS, size: 1, dataDir },
	guard: guard as "off" | "required",
	output: { echo: "none" },
	onEvent: events.record,
});
process.setgroups?.([]);
process.setgid?.(NOBODY);
process.setuid?.(NOBODY);
const said = [await pool.execute("as root", undefined)];
await pool.recycle("capitals-0");
said.push(await pool.execute("as nobody", undefined));
const { pid } = events.of("worker.ready").at(-1) as { pid: number };
const user = statSync(`/proc/${pid}`).uid;
await pool.close();
const [run] = events.of("run.ended");
const lost = events
	.of("run.directory_lost")
	.map(({ directory, how }) => `${directory}: ${how}`);
const killers = events.of("worker.exited").map(({ killer }) => killer);
const guards = events.of("protection.started").length;
console.log(JSON.stringify({ said, user, lost, guards, killers, run }));
