import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";

/** Whether a program of Debian's package `prometheus` is there; where it is not, tests that need it say so and are skipped. */
export function hasProgram(name: "promtool" | "prometheus"): boolean {
	const there =
		spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0;
	if (!there)
		console.warn(
			`Skipped: ${name} is not installed. On Debian and Ubuntu: apt install prometheus`,
		);
	return there;
}

/** Runs promtool; @throws Error with what it printed when it fails. */
export async function promtool(...args: string[]): Promise<string> {
	try {
		const { stdout } = await promisify(execFile)("promtool", args);
		return stdout;
	} catch (error) {
		const { stdout, stderr } = error as { stdout: string; stderr: string };
		throw new Error(`promtool ${args.join(" ")}:\n${stdout}${stderr}`);
	}
}
