/** A program with jobs; see real-jobs.test.ts and host-killed.test.ts. */
import { openRun } from "../../src/run/open-run.ts";

const [dataDir, habit, text = "[]"] = process.argv.slice(2);
const run = await openRun({ dataDir, jobs: { concurrency: 10 } });
switch (habit) {
	case "reads":
		process.stdout.write(
			await run.job(["sh", "-c", "sleep 0.3; echo hello"]).text(),
		);
		await run.close();
		break;
	case "forgets":
		run.job(["false"]);
		break;
	default:
		await startAll();
}

/** Prints the pids of jobs when each has printed something, and the orphans that were found. */
async function startAll(): Promise<void> {
	const commands = JSON.parse(text) as readonly (readonly string[])[];
	const options = { inheritEnv: "all", killAfterMs: 300 } as const;
	const jobs = commands.map((command) => run.job(command, options));
	const readers = jobs.map((job) => job[Symbol.asyncIterator]());
	await Promise.all(readers.map((reader) => reader.next()));
	// Their errors are theirs: the program lives until it is ended.
	for (const reader of readers) void drain(reader).catch(() => {});
	const orphans = run.cleanupReport.reaped.length;
	console.log(JSON.stringify({ pids: jobs.map(({ pid }) => pid), orphans }));
	if (habit === "exits") process.exit(7);
	if (habit === "closes") await run.close({ drainMs: 0 });
}

async function drain(reader: AsyncIterator<unknown>): Promise<void> {
	while ((await reader.next()).done !== true);
}
