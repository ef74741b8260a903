#!/usr/bin/env node
// The command `snakepit`, where bin/snakepit does not do it without Node. `run` loads nothing that the others need.
import { run } from "../run/run.ts";

const args = process.argv.slice(2);
if (args[0] === "run") run(args.slice(1));
else {
	const { main } = await import("./main.ts");
	await main(args);
}
