import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { eventually, run, SNAKEPIT, started } from "./started.ts";

const shell = (script: string) => ["/bin/sh", "-c", script];

function ran(command: readonly string[], ...options: readonly string[]) {
	const [program, ...args] = run(command, ...options);
	const { status, signal, stdout, stderr } = spawnSync(program, args, {
		encoding: "utf8",
		input: "in",
	});
	return { status, signal, stdout, stderr };
}

describe.runIf(process.platform === "linux")("snakepit run", () => {
	test("gives the command its standard streams and arguments, and ends with its status", () => {
		expect(
			ran(shell('cat; echo "$1" >&2; exit 7').concat("sh", "a b")),
		).toEqual({ status: 7, signal: null, stdout: "in", stderr: "a b\n" });
	});

	test.each(["SIGTERM", "SIGKILL", "SIGSEGV"])(
		"ends by %s when the command does",
		(signal) => {
			const script = `kill -${signal.slice(3)} $$`;
			expect(ran(shell(script))).toMatchObject({ status: null, signal });
		},
	);

	test("ends as a shell does without the command, and says why", () => {
		expect(ran(["snakepit-no-such-program"])).toMatchObject({
			status: 127,
			stderr: expect.stringContaining("snakepit-no-such-program"),
		});
		expect(ran(["/etc"])).toMatchObject({ status: 126 });
	});

	test.each([
		[["run"], "the command is missing. Write it after --"],
		[["run", "ls"], "this is not an option: ls. Write -- before the command"],
		[
			["run", "--grace", "5", "--", "ls"],
			"this is not a time for --grace: 5. Give 0, or a time up to 1440m",
		],
		[["run", "--grace"], "this is not a time for --grace: (nothing). Give 0"],
		[
			["run", "--gracious", "--", "ls"],
			"unknown option: --gracious. The options are --grace TIME",
		],
	])("answers wrong arguments %j with what to do", (args, message) => {
		const [program] = SNAKEPIT;
		const { status, stdout, stderr } = spawnSync(program, args, {
			encoding: "utf8",
		});
		expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
		expect(stderr).toContain(`snakepit: ${message}`);
		expect(stderr.trimEnd()).not.toContain("\n");
	});

	test("changes neither descriptors, signals, directory nor session of the command", () => {
		const script =
			"ls /proc/self/fd; ulimit -a; grep Sig[BIC] /proc/self/status; pwd; cut -d' ' -f5-8 /proc/$$/stat";
		const [program, ...args] = run(shell(script));
		const as = (file: string, argv: readonly string[]) => {
			const lines = spawnSync("setsid", ["-w", file, ...argv], {
				encoding: "utf8",
				stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
			}).stdout.split("\n");
			// Of its group and session the numbers differ, and not that both are those of the first process.
			const [group, session, ...terminal] = (lines.at(-2) ?? "").split(" ");
			return [...lines.slice(0, -2), group === session, ...terminal];
		};
		const plain = as("/bin/sh", ["-c", script]);
		expect(plain).toContain("4");
		expect(as(program, args)).toEqual(plain);
	});

	test("holds none of the command's descriptors: what it closes is closed", async () => {
		const { child, gone, line, write } = started(
			run(shell("exec 3>&-; exec >&-; read x; exit 4")),
		);
		await Promise.all([
			once(child.stdout ?? child, "end"),
			once(child.stdio[3] as NodeJS.ReadableStream, "end"),
			expect(line()).resolves.toBeUndefined(),
		]);
		expect(child.exitCode).toBeNull();
		write("\n");
		await gone();
	});
});

/** Prints a line for each signal that it gets, and at SIGPROF which ones they were; ends after a line of input. */
const COUNTS = [
	"perl",
	"-e",
	`$| = 1;
	for my $s (qw(TERM INT HUP QUIT USR1 USR2 WINCH TSTP)) { $SIG{$s} = sub { push @got, $s; print "one\n" } }
	$SIG{PROF} = sub { print join(" ", sort @got), "\n" };
	print "up\n";
	while (1) { my $r = sysread(STDIN, my $b, 1); last if defined $r }`,
];

describe.runIf(process.platform === "linux")("a signal", () => {
	const SIGNALS = [
		"TERM",
		"INT",
		"HUP",
		"QUIT",
		"USR1",
		"USR2",
		"WINCH",
		"TSTP",
	];

	test.each([
		["snakepit run", 1],
		["its whole group", -1],
	] as const)("to %s is a signal to the command, once", async (_, sign) => {
		const { child, line, write, end } = started(run(COUNTS));
		expect(await line()).toBe("up");
		const pid = child.pid ?? 0;
		for (const name of SIGNALS) process.kill(sign * pid, `SIG${name}`);
		// The kernel has taken the signals of the front when none of them is pending there.
		const { readFileSync } = await import("node:fs");
		await eventually("they are read", () =>
			/ShdPnd:\t0+\n/.test(readFileSync(`/proc/${pid}/status`, "utf8")),
		);
		for (const _ of SIGNALS) expect(await line()).toBe("one");
		// Takes the same way as one that would come twice, and behind it.
		process.kill(pid, "SIGPROF");
		expect((await line()).split(" ")).toEqual([...SIGNALS].sort());
		write("\n");
		expect(await end).toBe(0);
	});
});
