/** A host whose pool is in a thread, which it ends without closing the pool when it is ordered to. */
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";

const thread = new Worker(new URL("./host-program.ts", import.meta.url), {
	argv: process.argv.slice(2),
	stdin: true,
});
thread.once("error", (error) => {
	throw error;
});
setInterval(() => {}, 2 ** 30);
for await (const line of createInterface({ input: process.stdin })) {
	if (line !== "exit") continue;
	await thread.terminate();
	process.stdout.write('{"kind":"closed"}\n');
}
