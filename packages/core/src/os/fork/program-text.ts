import type { ProcessSpec } from "../../world.ts";

/** A program as the process that forks is told of it. */
export interface ProgramText {
	readonly executable: string;
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string;
}

/**
 * The program as the system would get it from Node itself: text is made
 * well-formed, and a variable's name ends at the first `=`.
 *
 * @throws TypeError where it contains a NUL, as `child_process` does.
 */
export function programText(spec: ProcessSpec, cwd: string): ProgramText {
	const env = Object.entries(spec.env).flatMap(([name, value]) => {
		const entry = text(`${name}=${value}`);
		const end = entry.indexOf("=");
		return end < 1 ? [] : [[entry.slice(0, end), entry.slice(end + 1)]];
	});
	return {
		executable: text(spec.executable),
		args: spec.args.map(text),
		env: Object.fromEntries(env),
		// A guard, for one, is at home nowhere: what is not said is where the host is.
		cwd: text(spec.cwd ?? cwd),
	};
}

function text(value: string): string {
	if (value.includes("\0"))
		throw new TypeError(
			`${JSON.stringify(value.slice(0, 80))} contains a NUL character, which no program can be given`,
		);
	return value.toWellFormed();
}
