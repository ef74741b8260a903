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

/** A package that is no part of the workspace: installed when something asks for it, in a directory of its own. */
export interface PackageOnDemand {
	readonly name: string;
	readonly version: string;
	/** What it holds in its node_modules. */
	readonly directory: string;
	/** Why it cannot be used here. */
	readonly problem: string | undefined;
}

const caches = join(root, "node_modules/.cache");
const ENOUGH_MS = 5 * 60_000;
/** Where no registry can be reached, that is known within seconds. */
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
	return dependenciesOf(manifest)
		.filter(([name]) => wanted(name))
		.map(([name, version]) => {
			const directory = join(caches, cache, `${name}-${version}`);
			const problem = install([name, version], directory);
			return { name, version, directory, problem };
		});
}

type Dependency = readonly [name: string, version: string];

function dependenciesOf(manifest: string): readonly Dependency[] {
	const { dependencies } = JSON.parse(readFileSync(manifest, "utf8")) as {
		dependencies: Record<string, string>;
	};
	return Object.entries(dependencies);
}

/** Returns why it failed. */
function install(
	[name, version]: Dependency,
	directory: string,
): string | undefined {
	const installed = join(directory, "installed");
	if (existsSync(installed)) return undefined;
	console.error(`Installing ${name} ${version}`);
	rmSync(directory, { recursive: true, force: true });
	mkdirSync(directory, { recursive: true });
	writeFileSync(join(directory, "package.json"), '{ "type": "module" }\n');
	const problem = npmInstall(`${name}@${version}`, directory);
	if (problem === undefined) writeFileSync(installed, "");
	return problem;
}

/** Returns why it failed. */
function npmInstall(named: string, cwd: string): string | undefined {
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
	if (status === 0) return undefined;
	const lines = stderr.split("\n").filter((line) => /error/i.test(line));
	return lines.slice(0, 3).join(" ") || `npm ended with ${status}`;
}
