import { globSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { compiled } from "../vitest.config.ts";
import { must, root } from "./run.ts";

/**
 * Has Node compile what programs of tests load. A program that is killed keeps
 * nothing of what it compiled for the next one.
 */
export default function compileSources(): void {
	const program = globSync("packages/*/src/*.ts", { cwd: root })
		.map((file) => `import "${pathToFileURL(join(root, file))}";`)
		.join("\n");
	must(
		process.execPath,
		[
			"--conditions=snakepit-source",
			...["--input-type=module", "--eval", program],
		],
		{ env: { ...process.env, NODE_COMPILE_CACHE: compiled } },
	);
}
