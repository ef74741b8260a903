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

/** What became of one peer. */
export interface Peer {
	readonly name: string;
	readonly version: string;
	readonly directory: string;
	/** Why it cannot be used here. */
	readonly problem: string | undefined;
}

const cache = join(root, "node_modules/.cache/peers");
const ENOUGH_MS = 5 * 60_000;

/**
 * Installs those of a manifest's dependencies that are wanted, each by itself: one
 * whose native part does not build here takes nothing else with it. Those that are
 * there already cost nothing.
 *
 * @param manifest - Path of a package.json whose dependencies are exact versions.
 */
export function installPeers(
	manifest: string,
	wanted: (name: string) => boolean = () => true,
): readonly Peer[] {
	const { dependencies } = JSON.parse(readFileSync(manifest, "utf8")) as {
		dependencies: Record<string, string>;
	};
	return Object.entries(dependencies)
		.filter(([name]) => wanted(name))
		.map(([name, version]) => install(name, version));
}

function install(name: string, version: string): Peer {
	const directory = join(cache, `${name}-${version}`);
	const installed = join(directory, "installed");
	if (!existsSync(installed)) {
		console.error(`Installing ${name} ${version}`);
		rmSync(directory, { recursive: true, force: true });
		mkdirSync(directory, { recursive: true });
		writeFileSync(join(directory, "package.json"), '{ "type": "module" }\n');
		const problem = npmInstall(`${name}@${version}`, directory);
		if (problem !== undefined) return { name, version, directory, problem };
		writeFileSync(installed, "");
	}
	return { name, version, directory, problem: undefined };
}

/** Returns why it failed. */
function npmInstall(what: string, cwd: string): string | undefined {
	// Native parts are built for the Node that will load them.
	const PATH = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
	const { error, status, stderr } = spawnSync(
		"npm",
		["install", "--no-audit", "--no-fund", what],
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
