// The host program in a thread of this one: its pool is not in the main thread.
import { Worker } from "node:worker_threads";

const thread = new Worker(new URL("./host.ts", import.meta.url), {
	argv: process.argv.slice(2),
});
thread.on("error", (error) => {
	throw error;
});
