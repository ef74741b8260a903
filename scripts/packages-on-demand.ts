import { spawnSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { root } from "./run.ts";

/** A package outside of the workspace, installed on demand in a directory of its own. */
export interface PackageOnDemand {
	readonly name: string;
	readonly version: string;
	/** Its node_modules holds the package. */
	readonly directory: string;
	/** Why it cannot be used here. */
	readonly problem: string | undefined;
}

const caches = join(root, "node_modules/.cache");
const ENOUGH_MS = 5 * 60_000;
/** A registry that cannot be reached is noticed within seconds. */
const SOON = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=4000"];

/**
 * Installs those of a manifest's dependencies that are wanted, each by itself: one
 * whose native part does not build here takes nothing else with it. Those that are
 * there already cost nothing.
 *
 * @param manifest - Path of a package.json whose dependencies are exact versions.
 * @param cache - The folder in node_modules/.cache that they share with others like them.
 */
export function installEach(
	manifest: string,
	cache: string,
	wanted: (name: string) => boolean = () => true,
): readonly PackageOnDemand[] {
	const { dependencies } = JSON.parse(readFileSync(manifest, "utf8")) as {
		dependencies: Record<string, string>;
	};
	return Object.entries(dependencies)
		.filter(([name]) => wanted(name))
		.map(([name, version]) => installOne(name, version, cache));
}

/** Installs one package, unless it is there already. */
export function installOne(
	name: string,
	version: string,
	cache: string,
): PackageOnDemand {
	const directory = join(caches, cache, `${name}-${version}`);
	const problem = install(`${name}@${version}`, directory);
	return { name, version, directory, problem };
}

/** Returns why it failed. */
function install(named: string, cwd: string): string | undefined {
	const installed = join(cwd, "installed");
	if (existsSync(installed)) return undefined;
	console.error(`Installing ${named}`);
	rmSync(cwd, { recursive: true, force: true });
	mkdirSync(cwd, { recursive: true });
	writeFileSync(join(cwd, "package.json"), '{ "type": "module" }\n');
	// Native parts are built for the Node that will load them.
	const PATH = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
	const { error, status, stderr } = spawnSync(
		"npm",
		["install", "--no-audit", "--no-fund", ...SOON, named],
		{
			cwd,
			encoding: "utf8",
			timeout: ENOUGH_MS,
			env: { ...process.env, PATH },
		},
	);
	if (error !== undefined) return error.message;
	if (status !== 0) {
		const lines = stderr.split("\n").filter((line) => /error/i.test(line));
		return lines.slice(0, 3).join(" ") || `npm ended with ${status}`;
	}
	writeFileSync(installed, "");
	return undefined;
}
