// Looks at a run as `snakepit top` does, while it is asked to. Argument: the data directory. Input: `attach` or `detach`, a
// line each; it answers `done` when that is so.
import { createInterface } from "node:readline";
import { attach } from "@snakepit/control";

const [, , dataDir] = process.argv;
using client = await attach({ dataDir });
let looking = new AbortController();
for await (const order of createInterface({ input: process.stdin })) {
	if (order === "attach") await attached();
	else looking.abort();
	console.log("done");
}
looking.abort();

async function attached(): Promise<void> {
	looking.abort();
	looking = new AbortController();
	const updates = client.events(looking.signal);
	await updates.next();
	void follow(updates);
}

async function follow(updates: AsyncIterable<unknown>): Promise<void> {
	try {
		for await (const _ of updates);
	} catch (error) {
		if (!looking.signal.aborted) throw error;
	}
}
