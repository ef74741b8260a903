import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { isatty } from "node:tty";

/**
 * `snakepit run` when `bin/snakepit` did not execute the native binary: for help, or because the binary is in an
 * unusual place or missing.
 *
 * Without the binary, Node supervises the command. It then ends the command when this process's parent ends, but not
 * the processes that the command has started, and nothing if this process itself is killed.
 */
export function run(args: readonly string[]): void {
	const binary = nativeBinary();
	const order = parseRunArguments(args);
	if (order.kind === "help") process.stdout.write(RUN_USAGE);
	else if (binary !== undefined)
		become([binary, "run", ...args], order.kind === "run" ? order.graceMs : 0);
	else if (order.kind === "misspelt") {
		process.stderr.write(`snakepit: ${order.message}\n`);
		process.exitCode = 2;
	} else {
		if (order.isVerbose)
			process.stderr.write(
				`snakepit: there is no native binary for ${process.platform} on ${process.arch} here: only the command itself is ended, not what it starts\n`,
			);
		superviseHere(order.command, order.graceMs);
	}
}

function become(
	command: readonly [string, ...string[]],
	graceMs: number,
): void {
	// Node 22.15 and 23.11.
	if (typeof process.execve === "function")
		process.execve(command[0], command, process.env);
	else superviseHere(command, graceMs);
}

/** Its path, if it is executable: a failing `execve` aborts the process. */
function nativeBinary(): string | undefined {
	try {
		const path = createRequire(import.meta.url).resolve(
			`@snakepit/native-${process.platform}-${process.arch}/bin/snakepit-native`,
		);
		accessSync(path, constants.X_OK);
		return path;
	} catch {
		return undefined;
	}
}

/** The parsed arguments of `snakepit run`. */
type RunOrder =
	| {
			readonly kind: "run";
			/** From SIGTERM to SIGKILL. */
			readonly graceMs: number;
			/** The command must also end when its standard input ends. */
			readonly withStdin: boolean;
			readonly isVerbose: boolean;
			/** The program and its arguments. */
			readonly command: readonly [string, ...string[]];
	  }
	| { readonly kind: "help" }
	| { readonly kind: "misspelt"; readonly message: string };

const RUN_USAGE = `Usage: snakepit run [--grace TIME] [--with-stdin] [--verbose]
                    -- COMMAND [ARGUMENT...]

Runs a command and leaves none of its processes behind. The command has the same
standard input, output and error, and gets the signals that are sent to this
process. When it ends, or when the parent of this process ends in any way,
snakepit ends all descendants of the command: SIGTERM, then SIGKILL after the
grace. Without the native binary (Linux), it ends only the command itself.

  --grace TIME  time from SIGTERM to SIGKILL, for example 500ms, 5s or 2m; default 5s
  --with-stdin  also ends the command when nobody can write to its standard input
                any more and it does not end by itself within the grace
  --verbose     reports on standard error what was ended and why
  --help        prints this help

Exit status: that of the command; 125 if this program fails, 126 if the command
cannot be executed, 127 if it does not exist, and 2 for wrong arguments.
`;

const DEFAULT_GRACE_MS = 5_000;
const DAY_MS = 86_400_000;
const UNITS_MS: Readonly<Record<string, number>> = {
	ms: 1,
	s: 1_000,
	m: 60_000,
};

/** Parses what follows `run`, as the native binary does. */
function parseRunArguments(args: readonly string[]): RunOrder {
	let graceMs = DEFAULT_GRACE_MS;
	let withStdin = false;
	let isVerbose = false;
	for (let next = 0; next < args.length; next++) {
		const argument = args[next] ?? "";
		const [, attached] = /^--grace=(.*)$/s.exec(argument) ?? [];
		if (argument === "--grace" || attached !== undefined) {
			const time = attached ?? args[++next] ?? "";
			const parsed = parseTime(time);
			if (parsed === undefined)
				return misspelt(
					`this is not a time for --grace: ${time || "(nothing)"}. Give 0, or a time up to 1440m with its unit: 500ms, 5s or 2m.`,
				);
			graceMs = parsed;
		} else if (argument === "--with-stdin") withStdin = true;
		else if (argument === "--verbose") isVerbose = true;
		else if (argument === "--help" || argument === "-h")
			return { kind: "help" };
		else if (argument === "--") {
			const [program, ...rest] = args.slice(next + 1);
			if (program === undefined) break;
			return {
				kind: "run",
				graceMs,
				withStdin,
				isVerbose,
				command: [program, ...rest],
			};
		} else
			return misspelt(
				argument.startsWith("-")
					? `unknown option: ${argument}. The options are --grace TIME, --with-stdin, --verbose and --help.`
					: `this is not an option: ${argument}. Write -- before the command: snakepit run -- COMMAND.`,
			);
	}
	return misspelt(
		"the command is missing. Write it after --: snakepit run -- COMMAND.",
	);
}

function misspelt(message: string): RunOrder {
	return { kind: "misspelt", message };
}

/** Milliseconds; `undefined` if the text is not a duration, or is more than a day. */
function parseTime(text: string): number | undefined {
	if (text === "0") return 0;
	const [, number = "", unit = ""] = /^(\d+)(ms|s|m)$/.exec(text) ?? [];
	const ms = Number(number) * (UNITS_MS[unit] ?? Number.NaN);
	return ms <= DAY_MS ? ms : undefined;
}

const FORWARDED: readonly NodeJS.Signals[] = [
	"SIGTERM",
	"SIGHUP",
	"SIGUSR1",
	"SIGUSR2",
	"SIGCONT",
];
/** A terminal also sends them to the command, which is in the same process group. */
const FROM_TERMINALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];
const LOOK_MS = 250;

/** Runs a command as a child with this process's standard streams, and exits with its status. When the parent of this process ends, the command is ended. */
function superviseHere(
	[program, ...args]: readonly [string, ...string[]],
	graceMs: number,
): void {
	const hasTerminal = isatty(0) || isatty(2);
	// Installed before the command starts: a signal that arrives earlier would end only this process. Listeners run in a
	// later turn.
	for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
	for (const signal of FROM_TERMINALS)
		process.on(signal, () => {
			if (!hasTerminal) child.kill(signal);
		});
	// Read before the command starts: what the command does first may end the parent.
	const parent = process.ppid;
	const child = spawn(program, args, { stdio: "inherit" });
	const look = setInterval(() => {
		if (process.ppid === parent) return;
		clearInterval(look);
		child.kill("SIGTERM");
		child.kill("SIGCONT");
		setTimeout(() => child.kill("SIGKILL"), graceMs);
	}, LOOK_MS);
	child.on("error", ({ code, message }: NodeJS.ErrnoException) => {
		process.stderr.write(`snakepit: ${message}\n`);
		process.exit(code === "ENOENT" ? 127 : 126);
	});
	child.on("exit", (status, signal) => {
		if (signal === null) process.exit(status ?? 125);
		process.removeAllListeners(signal);
		process.kill(process.pid, signal);
		// SIGKILL and similar signals end this process first; signals that are ignored by default do not.
		setTimeout(() => process.exit(125), LOOK_MS);
	});
}
