/**
 * Starts a program with no descriptor left, with one, with two and so on, until it succeeds. Prints after each attempt
 * what it said and how many descriptors are open.
 */
import { closeSync, openSync, readdirSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { SnakepitError } from "../../src/contract/errors.ts";
import { machine } from "../cleanup/hosts.ts";

const spec = {
	executable: "/bin/true",
	args: [],
	env: {},
	cwd: undefined,
	stdin: "pipe",
	control: true,
	descriptors: new Map([[5, "stream" as const]]),
} as const;

function takeAll(): number[] {
	const taken: number[] = [];
	while (true)
		try {
			taken.push(openSync("/dev/null", "r"));
		} catch {
			return taken;
		}
}

async function attempt(free: number): Promise<string> {
	const taken = takeAll();
	for (const descriptor of taken.splice(0, free)) closeSync(descriptor);
	try {
		const process_ = await machine.source.start(spec, () => {});
		const release = machine.keepAlive();
		await process_.exited;
		for (const stream of [
			process_.stdin,
			process_.stdout,
			process_.stderr,
			process_.control,
			...process_.streams.values(),
		])
			stream?.destroy();
		release();
		return "ok";
	} catch (error) {
		return (error as SnakepitError).code;
	} finally {
		for (const descriptor of taken) closeSync(descriptor);
	}
}

await attempt(20); // What is loaded or opened once.
for (let free = 0, said = ""; said !== "ok"; free++) {
	said = await attempt(free);
	// Handles are closed in the next turn.
	for (let turn = 0; turn < 3; turn++) await setImmediate();
	const open = readdirSync("/proc/self/fd").length;
	console.log(JSON.stringify({ free, said, open }));
}
process.exit();
