import type { Adapter, Connection, WorkerProcess } from "@snakepit/core";

/** Workers that are `cat`: the smallest real conversation with a process. One call at a time. */
export const catAdapter: Adapter = {
	name: "cat",
	launch: () => ({ executable: "cat", args: [], stdio: "adapter" }),
	connect: async (process) => converse(process),
};

function converse({ stdin, stdout }: WorkerProcess): Connection {
	if (stdin === undefined || stdout === undefined)
		throw new TypeError('launch says stdio: "adapter"');
	let wanted: ((line: string) => void) | undefined;
	let line = "";
	stdout.setEncoding("utf8");
	stdout.on("data", (text: string) => {
		line += text;
		if (!line.endsWith("\n")) return;
		wanted?.(line.slice(0, -1));
		line = "";
	});
	return {
		execute: (_command, args) =>
			new Promise((resolve) => {
				wanted = resolve;
				stdin.write(`${String(args)}\n`);
			}),
		leave: async () => void stdin.end(),
		[Symbol.asyncDispose]: async () => {},
	};
}
