// Starts a watchdog with no descriptor left, then with one more at each attempt, until one listens; prints what each came to.
import { closeSync, openSync } from "node:fs";
import { startWatchdog } from "../../src/watchdog/watchdog-process.ts";

/** What a later turn of the event loop throws ends a program. */
const uncaught: string[] = [];
process.on("uncaughtException", ({ message }) => uncaught.push(message));
process.stdout.write(""); // It takes descriptors when it is used first.

const held: number[] = [];
try {
	for (;;) held.push(openSync("/dev/null", "r"));
} catch {
	// None is left.
}
// Nothing of a watchdog keeps a program open.
const open = setInterval(() => {}, 1_000);
for (;;) {
	const failure = await attempt();
	await new Promise((resolve) => setImmediate(resolve));
	const said = { failure, uncaught: uncaught.splice(0) };
	process.stdout.write(`${JSON.stringify(said)}\n`);
	const one = held.pop();
	if (failure === undefined || one === undefined) break;
	closeSync(one);
}
clearInterval(open);

async function attempt(): Promise<string | undefined> {
	try {
		const watchdog = startWatchdog(process.execPath);
		await watchdog.ready;
		watchdog.end();
		await watchdog.exited;
		return undefined;
	} catch (error) {
		return (error as Error).message;
	}
}
