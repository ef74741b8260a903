/** `snakepit top` in terminals of two sizes, with programs that get into trouble. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../core/test/cleanup/hosts.ts";
import {
	type ControlledHost,
	controlledHost,
} from "../../../core/test/control/controlled-host.ts";
import { hostOfTest } from "../dash/inspected-host.ts";
import { childrenOf } from "../run/started.ts";
import { inTerminal } from "../runs/in-terminal.ts";
import { ShownTerminal } from "./shown-terminal.ts";

const DEADLINE_MS = 120_000;
interface Shown {
	readonly terminal: ShownTerminal;
	readonly child: ChildProcess;
	press(keys: string): void;
	/** Resolves when a line of the screen is like this. */
	shows(line: RegExp): Promise<void>;
	readonly status: Promise<number>;
}

/** Starts `snakepit top` in a terminal of this size. */
function topIn(
	rows: number,
	columns: number,
	...args: readonly string[]
): Shown {
	const child = spawn(
		...inTerminal({ rows, columns }, "echo before", ["top", ...args]),
		{ stdio: ["pipe", "pipe", "inherit"] },
	);
	onTestFinished(() => void child.kill("SIGKILL"));
	const terminal = new ShownTerminal(rows, columns);
	child.stdout.on("data", (data) => terminal.write(String(data)));
	const status = once(child, "close").then(([code]) => code as number);
	let isOver = false;
	void status.then(() => {
		isOver = true;
	});
	return {
		...{ terminal, child, status },
		press: (keys) => void child.stdin.write(keys),
		shows: async (line) => {
			const deadline = performance.now() + DEADLINE_MS / 2;
			while (!terminal.lines().some((each) => line.test(each))) {
				if (isOver || performance.now() > deadline)
					throw new Error(`No ${line}:\n${terminal.lines().join("\n")}`);
				await Promise.race([once(child.stdout, "data"), status]);
			}
		},
	};
}

const inDirectory = ({ dataDir }: Pick<ControlledHost, "dataDir">) => [
	...["--data-dir", dataDir],
];

test.each([
	[24, 80],
	[50, 200],
])(
	"in a terminal of %i rows and %i columns top is redrawn in place, and a key ends it",
	async (rows, columns) => {
		const host = await controlledHost({ control: true });
		const top = topIn(rows, columns, ...inDirectory(host));
		await top.shows(/^1 program runs with 1 pool: 2 workers ready, 0 busy/);
		await top.shows(/^ {2}lines-1 +ready /);
		await top.shows(/^q quit {2}↑ ↓ PgUp PgDn scroll/);
		host.call("sleep", 700);
		await top.shows(
			/^ {2}last \S+ s: 1 call, median (\d{3} ms|\d\.\d s), longest \d/,
		);
		for (let made = 0; made < 3; made++) host.call("sleep", 600_000);
		await top.shows(/lines: 1 call waits, both are busy/);
		await top.shows(/^ {2}lines-1 +ready .* sleep +\d/);
		const before = top.terminal.written.length;
		await top.shows(/open for (?:[3-9]|\d\d)\.\d s/);
		// What has not changed is not written again.
		expect(top.terminal.written.slice(before)).not.toContain("WORKER");
		top.press("q");
		expect(await top.status).toBe(0);
		// Its last verdict is left, and nothing that it drew.
		expect(top.terminal.lines()[0]).toBe("before");
		expect(top.terminal.lines().join("\n")).toMatch(/^1 program runs/m);
		expect(top.terminal.scrolledOut).toEqual([]);
	},
	DEADLINE_MS,
);

test(
	"a program that is stopped is shown so within two seconds, and recovers; so does top",
	async () => {
		const host = await controlledHost({ control: true });
		const top = topIn(24, 80, ...inDirectory(host));
		await top.shows(/^1 program runs/);
		host.child.kill("SIGSTOP");
		const stoppedAt = performance.now();
		await top.shows(/^host-program.ts \(pid \d+\) is stopped \(by SIGSTOP/);
		const tookMs = performance.now() - stoppedAt;
		// A busy machine may be late.
		expect(tookMs).toBeLessThan(4_000);
		await top.shows(new RegExp(`kill -CONT ${host.child.pid}`));
		host.child.kill("SIGCONT");
		await top.shows(/^1 program runs with 1 pool: 2 workers ready/);
		if (process.platform === "linux") {
			// Ctrl-Z, and what `fg` of a shell sends.
			top.press("\u001a");
			await top.shows(/^before$/);
			for (const pid of childrenOf(top.child.pid ?? 0))
				process.kill(pid, "SIGCONT");
			await top.shows(/^1 program runs/);
		}
		top.press("\u0003");
		expect(await top.status).toBe(0);
	},
	DEADLINE_MS,
);

test(
	"several programs and pools: those that begin later, one pool alone, scrolling; one that is killed leaves",
	async () => {
		const dataDir = temporaryDirectory();
		const first = await controlledHost({ control: true, dataDir });
		const top = topIn(14, 80, "--data-dir", dataDir);
		await top.shows(/^1 program runs/);
		const second = await hostOfTest({
			dataDir,
			control: true,
			pool: { name: "images", size: 2 },
		});
		await top.shows(/^2 programs run with 2 pools: 4 workers ready/);
		await top.shows(/scroll {2}p pool: all +lines 1-12 of 1\d$/);
		top.press("G");
		await top.shows(/lines [2-9]-1\d of 1\d$/);
		top.press("g");
		await top.shows(/lines 1-12 of 1\d$/);
		top.press("p");
		await top.shows(/p pool: (lines|images)/);
		top.press("p");
		top.press("p");
		await top.shows(/p pool: all/);
		await second.killed();
		await top.shows(new RegExp(`run ${second.runId}\\) died without`));
		first.child.kill("SIGKILL");
		await top.shows(/^No program of yours has an open run|died without/);
		top.press("q");
		expect(await top.status).toBe(0);
	},
	DEADLINE_MS,
);

test(
	"of one run, top ends with it, and fails when that was killed",
	async () => {
		const host = await controlledHost({ control: true });
		const top = topIn(24, 80, ...inDirectory(host), "--run", host.runId);
		await top.shows(/^1 program runs/);
		host.child.kill("SIGKILL");
		expect(await top.status).toBe(1);
		expect(top.terminal.lines().join("\n")).toMatch(
			/has ended, or closed its\s+run/,
		);
	},
	DEADLINE_MS,
);
