import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { rounds } from "../../../../scripts/test-effort.ts";
import { openRun } from "../../src/index.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";
import { EventRecorder } from "../../src/testing.ts";
import { eventually } from "../cleanup/hosts.ts";

interface Host {
	readonly lines: Interface;
	readonly seen: string[];
	readonly dataDir: string;
	kill(): Promise<void>;
}

function startHost(script?: string): Host {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
	const child = spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			join(import.meta.dirname, "host-program.ts"),
			dataDir,
			...(script === undefined ? [] : [script]),
		],
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	const exit = once(child, "exit");
	const kill = async (): Promise<void> => {
		child.kill("SIGKILL");
		await exit;
	};
	const seen: string[] = [];
	const lines = createInterface({ input: child.stdout });
	lines.on("line", (line) => seen.push(line));
	onTestFinished(async () => {
		await kill();
		rmSync(dataDir, { recursive: true });
	});
	return { lines, seen, dataDir, kill };
}

/** The start time of a process tells it from another with its pid. */
function startOf(pid: number): string | undefined {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		return fields[0] === "Z" ? undefined : fields[19];
	} catch {
		return undefined;
	}
}

const TREE = `trap "" TERM; sleep 100000 & echo child $!
python3 -S -c '
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(1, b"daemon %d\\n" % os.getpid())
        os.closerange(0, 100)
        os.execve("/bin/sleep", ["sleep", "100000"], {})
    os._exit(0)
os.wait()
'; echo whole; wait`;

test("the whole tree dies with its host, and the next start reports what the guard did", async () => {
	const host = startHost(TREE);
	// When those that only start the others have ended, and the daemon, which nobody waits for, has begun.
	await eventually(
		"the whole tree",
		() => host.seen.includes("whole") && host.seen.length === 5,
	);
	const pids = host.seen
		.filter((line) => line !== "whole")
		.map((line) => Number(line.split(" ")[1]));
	expect(pids.length).toBe(4);
	const before = pids.map(startOf);
	expect(before).not.toContain(undefined);
	await host.kill();
	await eventually("the end of all", () =>
		pids.every((pid, n) => startOf(pid) !== before[n]),
	);
	const events = new EventRecorder();
	const run = await openRun({
		dataDir: host.dataDir,
		onEvent: events.record,
	});
	await run.close();
	const killed = events.of("protection.process_killed");
	expect(killed.map(({ pid }) => pid).sort()).toEqual(pids.slice(1).sort());
	expect(new Set(killed.map(({ signal }) => signal))).toEqual(
		new Set(["SIGKILL"]),
	);
	expect(events.of("protection.run_settled")).toMatchObject([
		{ protection: "guard", killed: 3 },
	]);
});

// One program after the other: their start is what takes time on a busy machine.
test("a host that is killed at any moment of its starts leaves nothing", async () => {
	const random = new SeededRandom(5);
	for (let round = 0; round < rounds(6, 2); round++) {
		const host = startHost();
		await once(host.lines, "line");
		// Chosen by chance, and not waited for by any event: that is the point.
		const until = performance.now() + 60 * random.fraction();
		await new Promise((resolve) =>
			setTimeout(resolve, until - performance.now()),
		);
		const guardPid = Number(host.seen[0]?.split(" ")[1]);
		const guardStart = startOf(guardPid);
		await host.kill();
		// The outer guard ends when the kernel says that nothing is left below it.
		await eventually(
			"the end of the guard",
			() => guardStart === undefined || startOf(guardPid) !== guardStart,
		);
		for (const line of host.seen.slice(1))
			expect(startOf(Number(line.split(" ")[1]))).toBeUndefined();
	}
}, 300_000);
