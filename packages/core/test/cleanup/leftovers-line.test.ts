import { spawnSync } from "node:child_process";
import { expect, onTestFinished, test, vi } from "vitest";
import {
	leftoversLine,
	type ReapedOrphan,
} from "../../src/cleanup/cleanup-report.ts";
import type { SnakepitListener } from "../../src/contract/events.ts";
import type { RunId } from "../../src/contract/identity.ts";
import { thisMachine } from "../../src/os/this-machine.ts";
import { openRun } from "../../src/run/open-run.ts";
import { Host, temporaryDirectory } from "./hosts.ts";

function orphan(
	ofRun: string,
	pid: number,
	program: string | undefined,
): ReapedOrphan {
	return {
		...{ ofRun: ofRun as RunId, pid, program },
		...{ how: "killed", foundBy: "ledger" },
	};
}

test("the line says what was ended, how much and whose it was", () => {
	expect(leftoversLine([])).toBeUndefined();
	expect(leftoversLine([orphan("aaaaaaa", 11, "server.js")])).toBe(
		"[snakepit] Ended 1 process that a dead program had left: 1 of server.js (run aaaaaaa: pid 11).",
	);
	expect(
		leftoversLine([
			orphan("aaaaaaa", 11, "server.js"),
			orphan("bbbbbbb", 21, undefined),
			orphan("aaaaaaa", 12, "server.js"),
		]),
	).toBe(
		"[snakepit] Ended 3 processes that dead programs had left: 2 of server.js (run aaaaaaa: pids 11, 12), 1 of an unknown program (run bbbbbbb: pid 21).",
	);
});

test("of very many it names a few and counts the others", () => {
	const many = Array.from({ length: 60 }, (_, index) =>
		orphan(`run${index % 6}`, index, "a.js"),
	);
	const line = leftoversLine(many) ?? "";
	expect(line).toContain(
		"Ended 60 processes that dead programs had left: 10 of a.js (run run0: pids 0, 6, 12, 18, 24, …),",
	);
	expect(line).toMatch(/, and of 1 more programs\.$/);
});

/** Where a killed host has left one worker. */
async function withLeftovers(): Promise<string> {
	const dataDir = temporaryDirectory();
	const host = new Host({ dataDir, workers: ["sleeps.sh"] });
	await host.up();
	await host.kill();
	return dataDir;
}

const PROGRAM = `
	import { openRun } from "@snakepit/core";
	const run = await openRun({ dataDir: process.argv[1] });
	await run.close();
`;

test("the next start of any program writes it to standard error", async () => {
	const dataDir = await withLeftovers();
	const { stderr, status } = spawnSync(
		process.execPath,
		[
			...["--conditions=snakepit-source", "--input-type=module"],
			...["-e", PROGRAM, "--", dataDir],
		],
		{ encoding: "utf8", cwd: import.meta.dirname },
	);
	expect(status).toBe(0);
	expect(stderr).toMatch(
		/^\[snakepit\] Ended 1 process that a dead program had left: 1 of host-program\.ts \(run \w{7}: pid \d+\)\.\n$/,
	);
});

test("it writes nothing when a listener shows it", async () => {
	const echo = vi.spyOn(thisMachine(), "echo").mockImplementation(() => {});
	onTestFinished(() => echo.mockRestore());
	const onEvent: SnakepitListener = Object.assign(() => {}, {
		shows: ["orphan.reaped" as const],
	});
	const run = await openRun({ dataDir: await withLeftovers(), onEvent });
	expect(run.cleanupReport.reaped).toHaveLength(1);
	await run.close();
	expect(echo).not.toHaveBeenCalled();
});
