#!/usr/bin/env node
// The command `snakepit`, when bin/snakepit cannot do the work without Node. `run` and the other commands load only the
// files that they need themselves.

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
