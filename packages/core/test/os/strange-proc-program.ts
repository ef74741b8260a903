// Tries to start a pool, and prints what came of it. Run where /proc is another pid namespace's.
import { readdirSync } from "node:fs";
import { createPool, SnakepitError } from "@snakepit/core";
import { doctor } from "@snakepit/core/inspect";

const [dataDir = ""] = process.argv.slice(2);
let spawned = 0;
const failure: unknown = await createPool({
	adapter: {
		name: "never",
		launch: () => ({ executable: "sleep", args: ["1"] }),
		connect: () => Promise.reject(new Error("A worker was started.")),
	},
	size: 1,
	dataDir,
	onEvent: ({ type }) => {
		if (type === "worker.spawned") spawned++;
	},
}).catch((error: unknown) => error);
const layers = await doctor({ dataDir });
const known = failure instanceof SnakepitError ? failure : undefined;
console.log(
	JSON.stringify({
		code: known?.code,
		message: known?.message,
		spawned,
		doctor: layers.find(({ layer }) => layer === "process table")?.detail,
		files: readdirSync(dataDir),
	}),
);
