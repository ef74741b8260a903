import { fileURLToPath } from "node:url";
import { createPool } from "@snakepit/core";
import { jsonRpcAdapter } from "./json-rpc-adapter.ts";

/** What the program can do, for the compiler. */
interface TextTools {
	words(args: { text: string }): Record<string, number>;
	sentences(args: { text: string }): AsyncIterable<string>;
}

const text =
	"The pool owns the process. The adapter owns the conversation. Who kills? The pool!";
const program = fileURLToPath(
	new URL("../program/text-tools.mjs", import.meta.url),
);

await using pool = await createPool<TextTools>({
	adapter: jsonRpcAdapter([process.execPath, program]),
	size: { min: 2, max: 4 },
});

for await (const sentence of pool.stream("sentences", { text })) {
	const words = await pool.execute("words", { text: sentence });
	console.log(`${sentence} ${JSON.stringify(words)}`);
}
