import { fileURLToPath } from "node:url";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import type { Adapter, Connection } from "@snakepit/core/adapter";
import type { HostOrders } from "./orders.ts";

const at = (path: string): string =>
	fileURLToPath(new URL(path, import.meta.url));

/** The interpreter of the development environment. */
export const PYTHON: string = at("../../python/.venv/bin/python");

/** The adapter for one kind of worker. */
export function workerAdapter({
	worker,
	program,
	preload,
	transport,
}: HostOrders): Adapter {
	switch (worker) {
		case "python":
			return pythonGrpc({
				python: PYTHON,
				tools: program ?? at("./tools.py"),
				transport: transport ?? "grpc",
				// The tools hold the witness, each worker its own.
				preload:
					preload === "tools" || (preload ? { modules: ["numpy"] } : false),
			});
		case "shell":
			return stubborn("/bin/sh", program ?? at("./worker.sh"));
		case "node":
			return stubborn(process.execPath, program ?? at("./worker.mjs"));
	}
}

/** Workers that know nothing of Snakepit: they say "up", take a word a line, and do not mind the end of their input. */
function stubborn(executable: string, program: string): Adapter {
	return {
		name: "stubborn",
		launch: () => ({ executable, args: [program], stdio: "adapter" }),
		connect: async ({ stdin, stdout, exited }) => {
			if (!stdin || !stdout) throw new TypeError("It has no conversation.");
			const gone = exited.then(() => {
				throw new Error("The worker ended.");
			});
			gone.catch(() => {});
			stdin.on("error", () => {});
			let said = "";
			const waiting = new Set<() => void>();
			stdout.setEncoding("utf8").on("data", (text: string) => {
				said += text;
				for (const look of waiting) look();
			});
			const line = (): Promise<string> =>
				new Promise((resolve) => {
					const look = (): void => {
						const end = said.indexOf("\n");
						if (end < 0) return;
						const first = said.slice(0, end);
						said = said.slice(end + 1);
						waiting.delete(look);
						resolve(first);
					};
					waiting.add(look);
					look();
				});
			await Promise.race([line(), gone]);
			return {
				execute: async (command) => {
					stdin.write(`${command}\n`);
					return await Promise.race([line(), gone]);
				},
				[Symbol.asyncDispose]: async () => undefined,
			} satisfies Connection;
		},
	};
}
