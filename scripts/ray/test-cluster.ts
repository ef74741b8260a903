import { isThorough } from "../test-effort.ts";
import { Cluster } from "./cluster.ts";
import { isInside } from "./namespace.ts";
import { clusterPython, clusterUnavailable } from "./python.ts";

const python = clusterPython();
const missing = clusterUnavailable();

/** Whether a cluster can be started here. */
export const hasCluster: boolean = missing === undefined && isInside();

/** Whether tests that `check` alone runs have a cluster: each start of a worker takes seconds. */
export const hasClusterInCheck: boolean = hasCluster && isThorough();

/** For titles of tests that are skipped without a cluster. */
export const needsCluster: string =
	missing === undefined ? "" : ` (skipped: ${missing})`;

const SHARED = Symbol.for("snakepit.test.cluster");
const shared = globalThis as { [SHARED]?: Promise<Cluster> };

/**
 * The cluster of three nodes that tests share which leave it as it was: it ends with the namespace
 * of Vitest's worker.
 */
export function sharedCluster(): Promise<Cluster> {
	if (python === undefined) throw new Error("Ray could not be installed.");
	shared[SHARED] ??= Cluster.start({ python });
	return shared[SHARED];
}
