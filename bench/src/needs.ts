/** What a row needs beside this repository. */
export interface Needs {
	/** An npm package of bench/peers/package.json. */
	readonly peer?: string;
	/** /proc and /dev/shm. */
	readonly linux?: true;
	/** A Python without the GIL, given with --free-threaded. */
	readonly freeThreaded?: true;
	/** A Ray cluster with so many nodes, in a namespace that has only loopback. */
	readonly clusterNodes?: number;
}

/** By peer, why it could not be installed. */
export type PeerProblems = Readonly<Record<string, string | undefined>>;

/** Returns why a row cannot be measured here, or `undefined` if it can. */
export function whatIsMissing(
	needs: Needs | undefined,
	peers: PeerProblems,
	platform: NodeJS.Platform,
	freeThreadedPython: string | undefined,
	clusterProblem: string | undefined,
): string | undefined {
	if (needs?.linux && platform !== "linux") return "only on Linux";
	if (needs?.peer !== undefined && peers[needs.peer] !== undefined)
		return `does not install here: ${peers[needs.peer]}`;
	if (needs?.freeThreaded && freeThreadedPython === undefined)
		return "no free-threaded Python was named (--free-threaded)";
	return needs?.clusterNodes === undefined ? undefined : clusterProblem;
}
