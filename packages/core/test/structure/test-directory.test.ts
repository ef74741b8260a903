/** The temporary directory of a run of tests, which no developer finds full of what tests have left. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import {
	makeTestDirectory,
	strayRunDirectories,
} from "../../../../scripts/test-directory.ts";
import { Host, temporaryDirectory } from "../cleanup/hosts.ts";

test("it goes with its tests, and one whose tests were killed goes with the next ones", async () => {
	const place = temporaryDirectory();
	vi.stubEnv("TMPDIR", place);
	onTestFinished(() => void vi.unstubAllEnvs());
	const records = join(place, "records");
	const killed = spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			...["--input-type=module", "--eval"],
			`const { makeTestDirectory } = await import(${JSON.stringify(join(import.meta.dirname, "../../../../scripts/test-directory.ts"))});
			console.log(makeTestDirectory(${JSON.stringify(records)}).path);
			setInterval(() => {}, 1_000);`,
		],
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	onTestFinished(() => void killed.kill("SIGKILL"));
	const [path] = await once(killed.stdout.setEncoding("utf8"), "data");
	const left = String(path).trim();
	const beside = makeTestDirectory(records);
	// Its tests run: it is theirs.
	expect(existsSync(left)).toBe(true);
	killed.kill("SIGKILL");
	await once(killed, "exit");
	const stranger = mkdtempSync(join(place, "sp-"));
	const after = makeTestDirectory(records);
	expect(readdirSync(place).sort()).toEqual(
		[beside.path, after.path, stranger, records]
			.map((each) => each.slice(place.length + 1))
			.sort(),
	);
	beside.remove();
	after.remove();
	expect(existsSync(after.path)).toBe(false);
	expect(readdirSync(records)).toEqual([]);
});

test("a run whose private directory is elsewhere is found by its ledger, and no other run is", async () => {
	const [elsewhere, tests] = [temporaryDirectory(), temporaryDirectory()];
	const dataDir = join(tests, "ledger");
	mkdirSync(dataDir);
	const host = new Host({ dataDir, workers: [] }, { temporary: elsewhere });
	const { runDirectory } = await host.up();
	await host.kill();
	const other = join(elsewhere, "snakepit-zzzzzzz-0123456789");
	mkdirSync(other);
	writeFileSync(
		join(other, "control.json"),
		JSON.stringify({ dataDir: `${tests}-of-others` }),
	);
	expect(strayRunDirectories(tests, [elsewhere])).toEqual([runDirectory]);
	expect(strayRunDirectories(tmpdir(), [elsewhere])).toContain(runDirectory);
});
