// A worker that knows nothing of Snakepit and minds neither SIGTERM nor the end
// of its input.
import { execFileSync } from "node:child_process";
import { connect } from "node:net";
import { createInterface } from "node:readline";

process.on("SIGTERM", () => {});
setInterval(() => {}, 60_000);
const tree = [
	new URL("./descendants.py", import.meta.url).pathname,
	...["child", "ignores-sigterm", "daemon", "forgotten"],
];
const exits = connect(process.env.CHAOS_EXIT_WATCHER, () => {
	exits.write(`worker ${process.pid}\n`, () => process.stdout.write("> "));
});
createInterface({ input: process.stdin }).on("line", (word) => {
	if (word === "leave")
		execFileSync(process.env.CHAOS_PYTHON, tree, { stdio: "ignore" });
	process.stdout.write(`${word}\n> `);
});
