// Speaks JSON-RPC on lines: asks the host during the call `ask`, and never takes the answer.
import { createInterface } from "node:readline";

const write = (message) =>
	process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

createInterface({ input: process.stdin }).on("line", (line) => {
	const { id, method } = JSON.parse(line);
	if (method !== "ask") return;
	write({ id: "question", method: "wait" });
	write({ id, result: null });
});
