#!/usr/bin/env node
// The command `snakepit`, where bin/snakepit does not do it without Node. `run` loads nothing that the others need, nor
// they what it needs.

const args = process.argv.slice(2);
if (args[0] === "run") {
	const { run } = await import("../run/run.ts");
	run(args.slice(1));
} else {
	const { keepCompiled } = await import("./compile-cache.ts");
	keepCompiled();
	const { main } = await import("./main.ts");
	await main(args);
}
