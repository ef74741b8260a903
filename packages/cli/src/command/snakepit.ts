#!/usr/bin/env node
// The command `snakepit`, when bin/snakepit cannot do the work without Node. `run` and the other commands load only the
// files that they need themselves.

import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

/** As `engines` of package.json. */
const OLDEST_NODE = 22;

const args = process.argv.slice(2);
if (args[0] === "run") {
	const { run } = await import("../run/run.ts");
	run(args.slice(1));
} else if (Number.parseInt(process.version.slice(1), 10) < OLDEST_NODE) {
	// Code that is loaded from here on uses what older ones lack, and would fail with a TypeError.
	process.stderr.write(
		`snakepit: this is Node ${process.version}, and this command needs Node ${OLDEST_NODE} or newer. Run it with one: npx -p node@${OLDEST_NODE} snakepit ${args[0] ?? ""}\n`,
	);
	process.exitCode = 1;
} else {
	keepCompiled();
	const { main } = await import("./main.ts");
	await main(args);
}

/**
 * Makes Node cache the compiled code of this command: the next start takes a quarter less processor time. The cache is
 * in a private directory of this user, because anyone who can write to it decides which code runs.
 */
function keepCompiled(): void {
	const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
	// Node 22.0 does not have it. If the directory cannot be written, Node continues without a cache.
	module.enableCompileCache?.(join(cache, "snakepit", "compiled"));
}
