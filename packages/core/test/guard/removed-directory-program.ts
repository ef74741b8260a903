/** Runs jobs below a guard while its own directory is removed, and prints what they said. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openRun } from "../../src/index.ts";

const [, , scratch = ""] = process.argv;
const directory = mkdtempSync(join(scratch, "removed-"));
process.chdir(directory);
if (process.cwd() !== directory) throw new Error("Node remembers another one");
rmSync(directory, { recursive: true });

await using run = await openRun({
	dataDir: join(scratch, "data"),
	guard: "required",
});
const says = async (cwd?: string) =>
	(await run.job(["readlink", "/proc/self/cwd"], { cwd }).text()).trim();
const removed = await says();
const elsewhere = await says(scratch);
// Another one at the same path is not this program's.
mkdirSync(directory);
console.log(JSON.stringify({ removed, elsewhere, replaced: await says() }));
