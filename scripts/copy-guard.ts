import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.ts";

// A part of the build of @snakepit/watchdog: the guard is started from the npm package, so that nobody has to install
// it with pip.
const copy = join(root, "packages/watchdog/dist/guard/snakepit_guard");
rmSync(copy, { recursive: true, force: true });
cpSync(join(root, "python/src/snakepit_guard"), copy, {
	recursive: true,
	filter: (path) => !path.endsWith("__pycache__"),
});
