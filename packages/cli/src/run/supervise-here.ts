import { spawn } from "node:child_process";
import { isatty } from "node:tty";

const FORWARDED: readonly NodeJS.Signals[] = [
	"SIGTERM",
	"SIGHUP",
	"SIGUSR1",
	"SIGUSR2",
	"SIGCONT",
];
/** A terminal sends them to the command, too, which is in the same process group. */
const FROM_TERMINALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];
const LOOK_MS = 250;

/** Runs a command as a child with our standard streams, and ends as it ends. When our parent ends, so does the command. */
export function superviseHere(
	[program, ...args]: readonly [string, ...string[]],
	graceMs: number,
): void {
	const hasTerminal = isatty(0) || isatty(2);
	// Before the command begins: a signal that came first would end this process alone. Listeners run in a later turn.
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
		// SIGKILL and its like end this process first; what is ignored by default does not.
		setTimeout(() => process.exit(125), LOOK_MS);
	});
}
