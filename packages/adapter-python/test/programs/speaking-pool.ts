// A program that sets nothing up: what its workers print, log and die of is on its standard error.
import { createPool } from "@snakepit/core";
import { python } from "../../src/index.ts";

const [tools = "", program = "", dataDir = ""] = process.argv.slice(2);
const drawn = Promise.withResolvers<void>();
const pool = await createPool({
	name: "p",
	adapter: python({
		tools,
		python: program,
		hostFunctions: { drawn: () => drawn.promise },
	}),
	size: 1,
	dataDir,
});
const lines: unknown[] = [];
pool.on("worker.output", ({ line, callId }) => {
	if (!line.includes(" of ")) return;
	lines.push([line, callId]);
	if (line.includes("2000 of 2000")) drawn.resolve();
});
let drawing: string | undefined;
pool.on("call.accepted", ({ command, callId }) => {
	if (command === "draws") drawing = callId;
});
await pool.execute("draws", { updates: 2_000 });
await pool.execute("logs");
await pool.execute("logs_by_itself");
await pool.execute("dies").catch(() => {});
await pool.execute("logs");
await pool.close();
process.stdout.write(`${JSON.stringify({ lines, drawing })}\n`);
