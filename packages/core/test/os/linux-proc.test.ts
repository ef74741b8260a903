import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
	caughtIn,
	environmentValue,
	isHiding,
	LinuxProc,
	parseStat,
	parseThread,
	requireOwnProc,
	type TableEntry,
} from "../../src/os/process-table.ts";
import { eventually, machine, temporaryDirectory } from "../cleanup/hosts.ts";

const UNITS = { pageBytes: 4096, ticksPerSecond: 100 };

function line(name: string, state = "S", threads = 1, flags = 4194560): string {
	return `4242 (${name}) ${state} 7 40 40 0 -1 ${flags} 100 0 0 0 250 50 0 0 20 0 ${threads} 0 987654 10000 300 18446744073709551615 1 1\n`;
}

test.each([
	"node",
	"a b",
	")",
	"((",
	"x) R 1 1",
	"tricky) S 0 (name",
	"",
	"\u00ff",
])("the name %j is no obstacle", (name) => {
	expect(parseStat(line(name), UNITS)).toEqual({
		pid: 4242,
		parentPid: 7,
		groupId: 40,
		sessionId: 40,
		startTime: "987654",
		startedAt: 987654,
		condition: "alive",
		cpuTimeMs: 3000,
		residentBytes: 300 * 4096,
		name,
	});
});

test("a zombie is dead, unless it is only a leader whose threads run on", () => {
	expect(parseStat(line("x", "Z"), UNITS)?.condition).toBe("zombie");
	expect(parseStat(line("x", "X"), UNITS)?.condition).toBe("zombie");
	expect(parseStat(line("x", "Z", 5), UNITS)?.condition).toBe("alive");
	expect(parseStat(line("x", "D"), UNITS)?.condition).toBe("alive");
});

test.each([
	["rw", false],
	["rw,hidepid=0", false],
	["rw,hidepid=off", false],
	["rw,hidepid=1", true],
	["rw,hidepid=invisible", true],
	["rw,hidepid=2,gid=7", true],
	["rw,hidepid=2,gid=5", false],
	["rw,hidepid=2,gid=6", false],
	["rw,hidepid=ptraceable,gid=5", true],
])(
	"/proc mounted with %s hides from an ordinary user: %s",
	(options, hides) => {
		const mount = (point: string, each: string): string =>
			`36 35 0:4 / ${point} rw,nosuid shared:1 - proc proc ${each}`;
		const mounts = [
			mount("/proc", options === "rw" ? "rw,hidepid=2" : "rw"),
			mount("/proc", options),
			mount("/mnt/proc", "rw,hidepid=2"),
		].join("\n");
		const status =
			"Gid:\t5\t5\t5\t5\nGroups:\t6 8 \nCapEff:\t0000000000000000\n";
		expect(isHiding(mounts, status)).toBe(hides);
		const tracer = status.replace("000000000000\n", "000000080000\n");
		expect(isHiding(mounts, tracer)).toBe(false);
	},
);

test("a thread shows the time it used, and what holds it", () => {
	expect(parseThread(line("a) D b"), UNITS)).toEqual({
		id: "4242 987654",
		cpuTimeMs: 3000,
		held: "no",
	});
	const held = (state: string) => parseThread(line("x", state), UNITS)?.held;
	expect(["R", "S", "D", "T", "t"].map(held)).toEqual([
		"no",
		"no",
		"uninterruptible",
		"stopped",
		"traced",
	]);
	expect(parseThread("", UNITS)).toBeUndefined();
});

test.each(["Z", "X", "x"])("a thread that has ended is none: %s", (state) => {
	expect(parseThread(line("x", state), UNITS)).toBeUndefined();
});

test("a process that the kernel takes down is on its way out, also while its other threads end", () => {
	const exiting = 4194560 | 4;
	expect(parseStat(line("x", "R", 1, exiting), UNITS)?.condition).toBe(
		"exiting",
	);
	expect(parseStat(line("x", "Z", 5, exiting), UNITS)?.condition).toBe(
		"exiting",
	);
	expect(parseStat(line("x", "Z", 1, exiting), UNITS)?.condition).toBe(
		"zombie",
	);
});

test("the children of a process are listed, those of its other threads too", async ({
	skip,
}) => {
	if (process.platform !== "linux") skip("there is no /proc");
	const child = spawn("sleep", ["1000"]);
	onTestFinished(() => void child.kill("SIGKILL"));
	await once(child, "spawn");
	expect(new LinuxProc().children(process.pid)).toContain(child.pid);
	expect(new LinuxProc().children(2 ** 30)).toEqual([]);
});

test.each(["", "\n", "12", "12 (x) S 1", ") 1 ("])(
	"%j is no line of the table",
	(text) => {
		expect(parseStat(text, UNITS)).toBeUndefined();
	},
);

test("a variable is found wherever it is in the environment, and only by its whole name", () => {
	expect(environmentValue("A=1\0B=2\0", "A")).toBe("1");
	expect(environmentValue("A=1\0B=2=3\0", "B")).toBe("2=3");
	expect(environmentValue("A=1\0B=2", "B")).toBe("2");
	expect(environmentValue("A=\0", "A")).toBe("");
	expect(environmentValue("XA=1\0C=A=2\0", "A")).toBeUndefined();
	expect(environmentValue("", "A")).toBeUndefined();
});

test("a signal is looked for in the mask of those that are caught, and in no other", () => {
	const text =
		"SigIgn:\t0000000000000003\nSigCgt:\t0000000180000004\nCapInh:\t0\n";
	expect([1, 2, 3, 32, 33, 64].map((n) => caughtIn(text, n))).toEqual([
		"no",
		"no",
		"yes",
		"yes",
		"yes",
		"no",
	]);
	expect(caughtIn("Name:\tx\n", 3)).toBe("unknown");
});

const onLinux = test.skipIf(process.platform !== "linux");

onLinux(
	"a child is seen while it runs, as a zombie until it is noticed, and not after",
	async () => {
		const table = new LinuxProc();
		const seen = (pid: number | undefined): Partial<TableEntry> => {
			const entry = table.entry(pid as number);
			return typeof entry === "string" ? {} : entry;
		};
		// The shell would notice the end of its child; the program that it becomes never does.
		const script = "sleep 100000 & echo $!; exec sleep 100000";
		const parent = spawn("sh", ["-c", script], {
			stdio: ["ignore", "pipe", "inherit"],
		});
		onTestFinished(() => void parent.kill("SIGKILL"));
		const [text] = await once(parent.stdout, "data");
		const pid = Number(text);
		const child = machine.observe(pid);
		if (typeof child === "string") throw new Error(child);
		onTestFinished(() => void machine.signal(child, "SIGKILL"));
		await eventually("a parent that does not wait", () =>
			[pid, parent.pid].every((each) => seen(each).name === "sleep"),
		);
		expect(seen(pid).condition).toBe("alive");
		machine.signal(child, "SIGKILL");
		await eventually("a zombie", () => seen(pid).condition === "zombie");
		expect(table.entries().some((entry) => entry.pid === parent.pid)).toBe(
			true,
		);
		parent.kill("SIGKILL");
		await once(parent, "exit");
		expect(table.entry(parent.pid as number)).toBe("gone");
	},
);

onLinux("the environment of a process that cannot be read is empty", () => {
	const table = new LinuxProc();
	expect(table.environment(4_194_303, ["PATH"]).size).toBe(0);
	expect(table.threads(4_194_303)).toEqual([]);
	expect(table.environment(process.pid, ["PATH", "no such"]).get("PATH")).toBe(
		process.env["PATH"],
	);
});

onLinux(
	"the machine's own units are read: this process is about as large as it reports itself",
	() => {
		const entry = new LinuxProc().entry(process.pid);
		if (typeof entry === "string") throw new Error(entry);
		expect(entry.residentBytes / process.memoryUsage.rss()).toBeGreaterThan(
			0.5,
		);
		expect(entry.residentBytes / process.memoryUsage.rss()).toBeLessThan(2);
		const { user, system } = process.cpuUsage();
		expect(Math.abs(entry.cpuTimeMs - (user + system) / 1000)).toBeLessThan(
			5_000,
		);
	},
);

/** Runs a program that may have 64 descriptors; returns what it printed. */
function withFewDescriptors(file: string): unknown {
	const program = join(import.meta.dirname, file);
	const { stdout, stderr } = spawnSync(
		"sh",
		["-c", 'ulimit -n 64; exec "$@"', "sh", process.execPath, program],
		{ encoding: "utf8", env: { ...process.env, SEEN: "yes" } },
	);
	expect(stderr).toBe("");
	return JSON.parse(stdout);
}

onLinux(
	"a program without a descriptor left still sees its processes, again and again",
	() => {
		const seen = { own: "alive", listed: true, variable: "yes" };
		expect(withFewDescriptors("out-of-descriptors-program.ts")).toEqual({
			code: "EMFILE",
			looks: [seen, seen],
		});
	},
);

onLinux(
	"a reserve can be taken by other threads four times, and is held again as soon as a descriptor is free",
	() =>
		expect(withFewDescriptors("lost-reserve-program.ts")).toEqual({
			stolen: 4,
			lost: "EMFILE",
			free: "done",
			full: "done",
		}),
);

onLinux("tables made one after the other hold one reserve", () => {
	const held = () => readdirSync("/proc/self/fd").length;
	new LinuxProc();
	const before = held();
	for (let made = 0; made < 10; made++) new LinuxProc();
	expect(held()).toBe(before);
});

onLinux("start times are counted on the clock that `moment` reads", () => {
	const table = new LinuxProc();
	const before = table.moment() ?? 0;
	const { stdout } = spawnSync("cat", ["/proc/self/stat"], {
		encoding: "utf8",
	});
	const { startedAt = 0 } = parseStat(stdout, UNITS) ?? {};
	const after = table.moment() ?? 0;
	expect(before).toBeGreaterThan(0);
	expect(startedAt).toBeGreaterThanOrEqual(before);
	expect(startedAt).toBeLessThanOrEqual(after);
});

test.each([
	[
		"4711",
		/another pid namespace: this process has pid \d+ here and 4711 there.*Mount/,
	],
	[undefined, /\/proc\/self cannot be read.*Mount/],
])("a /proc in which this process is %s is refused", (seen, message) => {
	expect(() => requireOwnProc(seen)).toThrow(
		expect.objectContaining({
			code: "PLATFORM_UNSUPPORTED",
			ran: "no",
			message: expect.stringMatching(message),
		}),
	);
	expect(() => requireOwnProc(String(process.pid))).not.toThrow();
});

onLinux(
	"in a pid namespace without a /proc of its own no pool starts, and nothing is recorded",
	({ skip }) => {
		const [command = "", ...inside] = ["unshare", "--pid", "--fork"];
		if (spawnSync(command, [...inside, "true"]).status !== 0)
			skip("pid namespaces may not be made here");
		const dataDir = temporaryDirectory();
		const { stdout, stderr } = spawnSync(
			command,
			[
				...inside,
				process.execPath,
				"--conditions=snakepit-source",
				join(import.meta.dirname, "strange-proc-program.ts"),
				dataDir,
			],
			{ encoding: "utf8", env: { ...process.env, TMPDIR: dataDir } },
		);
		expect(stderr).toBe("");
		expect(JSON.parse(stdout)).toEqual({
			code: "PLATFORM_UNSUPPORTED",
			message: expect.stringContaining("another pid namespace"),
			spawned: 0,
			doctor: expect.stringContaining("another pid namespace"),
			files: [],
		});
	},
);
