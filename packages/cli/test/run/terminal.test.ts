import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run, started } from "./started.ts";

type Step =
	| readonly ["expect" | "type", string]
	| readonly ["resize", number, number];

const HARNESS = join(import.meta.dirname, "terminal.py");
const SHELL = ["bash", "--norc", "--noprofile", "-i"];
const PROMPT = "bash-\\S+ ";
/** What is typed does not look like what it prints. */
const CAT = `sh -c "echo u''p; exec cat"`;
const CTRL_C = "\x03";
const CTRL_Z = "\x1a";

/** Runs a program in a terminal; resolves when it and all that descends from it is gone. */
async function inTerminal(
	program: readonly string[],
	steps: readonly Step[],
): Promise<string> {
	const { child, end, gone, errors } = started([
		"env",
		"INPUTRC=/dev/null",
		`RUN=${run([]).join(" ")}`,
		"python3",
		HARNESS,
		JSON.stringify(program),
		JSON.stringify(steps),
	]);
	let shown = "";
	child.stdout?.on("data", (text) => {
		shown += text;
	});
	expect(await end, `${shown}\n${errors()}`).toBe(0);
	await gone();
	return shown;
}

const COUNTS = `$| = 1; $n = 0; $SIG{WINCH} = sub { $n++; print "size ", \`stty size\` }; $SIG{HUP} = sub { open my $r, ">&=3"; print $r "HUP"; exit }; print "up\\n"; sysread(STDIN, $b, 1) until defined $b && length $b; print "resized $n\\n"`;

describe.runIf(process.platform === "linux")(
	"in a terminal, below a shell with job control, snakepit run",
	() => {
		test("stops with the command on Ctrl-Z, goes on with it, and ends with it on Ctrl-C", async () => {
			await inTerminal(SHELL, [
				["expect", PROMPT],
				["type", `$RUN ${CAT}\n`],
				["expect", "up\r"],
				["type", "first\n"],
				["expect", "first[\\s\\S]*first"],
				["type", CTRL_Z],
				["expect", "Stopped[\\s\\S]*bash-"],
				["type", "echo waited=$((1+1))\n"],
				["expect", "waited=2[\\s\\S]*bash-"],
				["type", "fg\n"],
				["expect", "2004l[\\s\\S]*exec cat"],
				["type", "second\n"],
				["expect", "second[\\s\\S]*second"],
				["type", CTRL_C],
				["expect", PROMPT],
				["type", "echo status=$?\n"],
				["expect", "status=130"],
			]);
		});

		test("gives the command the terminal itself, and each new size of it once", async () => {
			await inTerminal(SHELL, [
				["expect", PROMPT],
				["type", "tty; $RUN tty\n"],
				["expect", "(/dev/pts/\\d+)\\s+\\1\\s"],
				["type", `$RUN perl -e '${COUNTS}'\n`],
				["expect", "up\r"],
				["resize", 33, 77],
				["expect", "size 33 77"],
				["type", "\n"],
				["expect", "resized 1\\s"],
			]);
		});

		test("runs in the background, and in a pipeline that is stopped and goes on", async () => {
			await inTerminal(SHELL, [
				["expect", PROMPT],
				["type", "$RUN sleep 1000 &\n"],
				["expect", PROMPT],
				["type", "kill %1; wait %1; echo status=$?\n"],
				["expect", "status=143"],
				["type", `$RUN ${CAT} | $RUN ${CAT.replace("echo", "echo >&2")}\n`],
				["expect", "up\r[\\s\\S]*up\r"],
				["type", "first\n"],
				["expect", "first[\\s\\S]*first"],
				["type", CTRL_Z],
				["expect", "Stopped[\\s\\S]*bash-"],
				["type", "fg\n"],
				["expect", "2004l[\\s\\S]*exec cat"],
				["type", "second\n"],
				["expect", "second[\\s\\S]*second"],
				["type", CTRL_C],
				["expect", PROMPT],
			]);
		});

		test("gives an interactive shell job control of its own", async () => {
			await inTerminal(SHELL, [
				["expect", PROMPT],
				["type", `$RUN ${SHELL.join(" ")}\n`],
				["expect", PROMPT],
				["type", "sh -c \"echo u''p; exec sleep 1000\"\n"],
				["expect", "up\r"],
				["type", CTRL_Z],
				["expect", "Stopped[\\s\\S]*bash-"],
				["type", "exit\n"],
				["expect", "stopped jobs[\\s\\S]*bash-"],
				["type", "exit 6\n"],
				["expect", PROMPT],
				["type", "echo status=$?\n"],
				["expect", "status=6"],
			]);
		});
	},
);

test.runIf(process.platform === "linux")(
	"a terminal that is closed hangs up the command, too, when snakepit run leads its session",
	async () => {
		const [program, ...args] = run(["perl", "-e", COUNTS]);
		const { child, gone, reported } = started([
			"python3",
			HARNESS,
			JSON.stringify([program, ...args]),
			JSON.stringify([["expect", "up"]]),
		]);
		child.stdout?.resume();
		await gone();
		expect(reported()).toBe("HUP");
	},
);
