/**
 * Takes a run and starts a program in it, with no descriptor left, with one, with
 * two and so on, until it succeeds. Prints what each attempt said.
 */
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { SnakepitError } from "../../src/contract/errors.ts";
import { loadSqlite } from "../../src/registry/sqlite.ts";
import { loadJoinRun, openRun } from "../../src/run/open-run.ts";

const [, , dataDir = ""] = process.argv;
const MOST = 100;
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
async function attempt(guard: "auto" | "off"): Promise<void> {
	const run = await openRun({ dataDir, guard });
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

async function attemptWith(
	free: number,
	guard: "auto" | "off" = "off",
): Promise<object> {
	const taken = takeAll();
	for (const descriptor of taken.splice(0, free)) closeSync(descriptor);
	try {
		await attempt(guard);
		return { free, ok: true };
	} catch (error) {
		const { name, code, message } = error as SnakepitError;
		const typed = error instanceof SnakepitError;
		return { free, typed, name, code, message };
	} finally {
		for (const descriptor of taken) closeSync(descriptor);
	}
}

// Code is loaded by the first attempt that can, and would fail for ever if it was loaded halfway.
console.log(JSON.stringify(await attemptWith(0)));
console.log(JSON.stringify(await attemptWith(4)));
await loadSqlite();
await loadJoinRun();
let enough = MOST;
for (let free = 0; free <= MOST; free++) {
	const said = await attemptWith(free);
	console.log(JSON.stringify(said));
	enough = free;
	if ("ok" in said) break;
}
// With what suffices without one, there may be too few for a guard: it is done without.
for (let free = enough; free < 2 * enough; free++)
	console.log(JSON.stringify(await attemptWith(free, "auto")));
process.exit();
