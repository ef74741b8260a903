import { spawn } from "node:child_process";
import { isatty } from "node:tty";

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
export function superviseHere(
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
	const child = spawn(program, args, { stdio: "inherit" });
	const parent = process.ppid;
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
