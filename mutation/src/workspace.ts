import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { must, root } from "../../scripts/run.ts";

/** A copy of the repository. */
export function makeWorkspace(place: string): string {
	const directory = join(place, "repo");
	mkdirSync(directory);
	for (const file of trackedFiles()) {
		mkdirSync(join(directory, dirname(file)), { recursive: true });
		cpSync(join(root, file), join(directory, file));
	}
	return directory;
}

/** Installs Stryker in the copy. */
export function installStryker(directory: string): void {
	const { dependencies } = JSON.parse(
		readFileSync(join(root, "mutation/package.json"), "utf8"),
	) as { dependencies: Record<string, string> };
	const packages = Object.entries(dependencies).map(([n, v]) => `${n}@${v}`);
	must("npx", ["--yes", "pnpm@12", "add", "-w", "-D", ...packages], {
		cwd: directory,
	});
}

function trackedFiles(): readonly string[] {
	const { stdout } = spawnSync(
		"git",
		["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
		{ cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 },
	);
	return stdout.split("\0").filter((file) => file !== "");
}
