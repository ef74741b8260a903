import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { openPreloaded, toolsOf } from "../support/preloaded-pool.ts";

test("workers that read a file opened at import have a place each, where the import had left it", async () => {
	const here = temporaryDirectory();
	const records = join(here, "records.txt");
	writeFileSync(records, "header--0000001\n0000002\n0000003\n");
	const source = `
import glob, os, time
from snakepit_bridge import tool
RECORDS = open(${JSON.stringify(records)}, "rb", 0)
RECORDS.read(8)  # The header, once.

@tool
def visit(place: int) -> list[str]:
    first = RECORDS.read(8)
    RECORDS.seek(place)
    open(f"${here}/at-{place}", "w").close()
    while len(glob.glob("${here}/at-*")) < 2:  # Until both workers are at theirs.
        time.sleep(0.001)
    return [first.decode(), RECORDS.read(8).decode()]
`;
	const { pool, events } = await openPreloaded({ tools: toolsOf(source) });
	expect(events.of("preload.unavailable")).toEqual([]);
	const visits = [16, 24].map((place) =>
		pool.execute("visit", [place], { timeoutMs: 60_000 }),
	);
	expect(await Promise.all(visits)).toEqual([
		["0000001\n", "0000002\n"],
		["0000001\n", "0000003\n"],
	]);
});

test("what an import leaves to its exit is done once, when the parent ends: not by every worker that leaves", async () => {
	const source = `
import atexit, os, tempfile
from snakepit_bridge import tool
SCRATCH = tempfile.TemporaryDirectory()
atexit.register(lambda: open(SCRATCH.name + "-left", "a").write("x"))

@tool
def scratch() -> str:
    return SCRATCH.name
`;
	const { pool, events } = await openPreloaded({ tools: toolsOf(source) }, 1);
	expect(events.of("preload.unavailable")).toEqual([]);
	const path = (await pool.execute("scratch")) as string;
	await pool.recycle("all");
	await pool.execute("scratch");
	const here = [existsSync(path), existsSync(`${path}-left`)];
	await pool.close();
	expect(here).toEqual([true, false]);
	expect(existsSync(path)).toBe(false);
});
