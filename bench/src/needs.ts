import { startVariants } from "./contestants/our-variants.ts";

/** What a row needs beside this repository. */
export interface Needs {
	/** An npm package of bench/peers/package.json. */
	readonly peer?: string;
	/** A variant of ours that may not be built yet. */
	readonly variant?: string;
	/** What only Linux has: /proc, /dev/shm. */
	readonly linux?: true;
	/** A Python without its lock, which somebody has to name. */
	readonly freeThreaded?: true;
}

/** What is known of the peers after their installation. */
export type PeerProblems = Readonly<Record<string, string | undefined>>;

/** Says why a row cannot be measured here; `undefined` when it can. */
export function whatIsMissing(
	needs: Needs | undefined,
	peers: PeerProblems,
	platform: NodeJS.Platform,
	freeThreadedPython: string | undefined,
): string | undefined {
	if (needs?.linux && platform !== "linux") return "only on Linux";
	if (needs?.peer !== undefined && peers[needs.peer] !== undefined)
		return `does not install here: ${peers[needs.peer]}`;
	if (needs?.freeThreaded && freeThreadedPython === undefined)
		return "no free-threaded Python was named (--free-threaded)";
	const variant = startVariants.find(({ name }) => name === needs?.variant);
	return variant?.problem;
}
