import { spawn } from "node:child_process";
import type { AnyProgram } from "./launcher.ts";
import { pooled } from "./pooled.ts";

/** A program that is up when it has printed these lines, whatever their order. */
export function plainProgram(
	name: string,
	command: () => readonly string[],
	lines: readonly RegExp[],
): AnyProgram {
	return {
		name,
		usual: "`child_process.spawn`",
		start: async (launcher) => {
			const [executable = "", ...args] = command();
			if (launcher.kind === "usual") {
				const child = spawn(executable, args, { stdio: "pipe" });
				let text = "";
				for await (const chunk of child.stdout) {
					text += chunk;
					if (lines.every((line) => line.test(text))) return;
				}
				throw new Error(`${name} ended: ${text}`);
			}
			await pooled(
				{
					name: "plain",
					launch: () => ({ executable, args }),
					connect: async (process, signal) => {
						for (const line of lines)
							await process.line(line, "stdout", signal);
						return {
							execute: async () => undefined,
							[Symbol.asyncDispose]: async () => {},
						};
					},
				},
				launcher,
			);
		},
	};
}
