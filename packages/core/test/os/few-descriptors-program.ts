/**
 * Takes a run and starts a program in it, with no descriptor left, with one, with
 * two and so on, until it succeeds. Prints what each attempt said.
 */
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { SnakepitError } from "../../src/errors.ts";
import { loadSqlite } from "../../src/registry/sqlite.ts";
import { openRun } from "../../src/run/open-run.ts";

const [, , dataDir = ""] = process.argv;
const MOST = 100;
// What is loaded later would say in Node's words that it cannot be.
await loadSqlite();
console.error("");

function takeAll(): number[] {
	const taken: number[] = [];
	while (true)
		try {
			taken.push(openSync("/dev/null", "r"));
		} catch {
			return taken;
		}
}

/** One that the run needs, its socket and a program with every pipe. */
async function attempt(): Promise<void> {
	const run = await openRun({ dataDir });
	try {
		const path = join(run.infrastructure.runDirectory, "socket");
		const listener = await run.infrastructure.host.listenLifeline(path);
		try {
			const process_ = await run.infrastructure.source.start(
				{
					executable: "/bin/true",
					args: [],
					env: {},
					cwd: undefined,
					stdin: "pipe",
					control: true,
				},
				() => {},
			);
			const release = run.infrastructure.host.keepAlive();
			await process_.exited;
			release();
		} finally {
			listener.close();
		}
	} finally {
		await run.close();
	}
}

for (let free = 0; free <= MOST; free++) {
	const taken = takeAll();
	for (const descriptor of taken.splice(0, free)) closeSync(descriptor);
	let said: unknown = { free, ok: true };
	try {
		await attempt();
	} catch (error) {
		const { name, code, message } = error as SnakepitError;
		const typed = error instanceof SnakepitError;
		said = { free, typed, name, code, message };
	}
	for (const descriptor of taken) closeSync(descriptor);
	console.log(JSON.stringify(said));
	if ((said as { ok?: true }).ok) break;
}
process.exit();
