import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withFallback } from "../contract/thrown.ts";

/** The private directory of a run of another user. */
export interface OthersDirectory {
	readonly runId: string;
	readonly uid: number;
	readonly directory: string;
	/** Whether something listens in it; `"unknown"` where that cannot be asked. */
	readonly lives: "yes" | "unknown";
}

/** The names of the private directories of runs. */
const DIRECTORY = /^snakepit-([0-9a-z]{7})-\w{10}$/;

/** Their directories can be seen where they are made, and not be entered. */
export function runsOfOthers(): readonly OthersDirectory[] {
	const listened = listenedPaths();
	return placesOfRuns().flatMap((base) =>
		namesIn(base).flatMap((name): readonly OthersDirectory[] => {
			const [, runId] = DIRECTORY.exec(name) ?? [];
			const directory = join(base, name);
			const uid = ownerOfDirectory(directory);
			if (runId === undefined || uid === undefined) return [];
			if (uid === process.getuid?.()) return [];
			const isOf = (path: string): boolean => path.startsWith(`${directory}/`);
			if (listened === undefined)
				return [{ runId, uid, directory, lives: "unknown" }];
			return listened.some(isOf)
				? [{ runId, uid, directory, lives: "yes" }]
				: [];
		}),
	);
}

/** Where programs of any user make their private directories. */
function placesOfRuns(): readonly string[] {
	const runtime = process.env["XDG_RUNTIME_DIR"];
	const all = [
		...(runtime?.startsWith("/") ? [runtime] : []),
		...namesIn("/run/user").map((uid) => join("/run/user", uid)),
		...[tmpdir(), "/tmp"],
	];
	return [...new Set(all.flatMap(real))];
}

function real(path: string): readonly string[] {
	return withFallback([], () => [realpathSync(path)]);
}

function namesIn(directory: string): readonly string[] {
	return withFallback([], () => readdirSync(directory));
}

function ownerOfDirectory(path: string): number | undefined {
	return withFallback(undefined, () => {
		const stats = lstatSync(path);
		return stats.isDirectory() ? stats.uid : undefined;
	});
}

/** The paths of all Unix sockets of this network namespace; `undefined` where they cannot be listed. Source: proc_net(5). */
function listenedPaths(): readonly string[] | undefined {
	return withFallback(undefined, () =>
		readFileSync("/proc/net/unix", "utf8")
			.split("\n")
			.flatMap((line) => / (\/.*)$/.exec(line)?.[1] ?? []),
	);
}
