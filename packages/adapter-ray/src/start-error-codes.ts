import type { PythonStartErrorCode } from "@snakepit/adapter-python";
import type { StartError } from "@snakepit/core";

/** Codes that this adapter adds to those of `python`. Each member is a code, its type what `ran` is. */
export interface RayStartErrorCodes {
	/**
	 * There is no Ray cluster at `address`, it does not answer, or this machine is no node of it.
	 * @remedy Start Ray on this machine as a node of the cluster, `ray start --address=HEAD:6379`, or correct `address`.
	 */
	readonly CLUSTER_UNREACHABLE: "no";
	/**
	 * No node of the cluster has the resources that a worker reserves, or none has them free.
	 * @remedy The message lists what is requested and what each node has. Request less with `resources`, shrink the pool,
	 * or add a node.
	 */
	readonly RESOURCES_UNAVAILABLE: "no";
}

export type RayStartErrorCode = keyof RayStartErrorCodes | PythonStartErrorCode;
/** The cluster, or a worker on it, cannot be used. */
export type RayStartError = StartError<RayStartErrorCode>;

/** The additional codes with which the gateway and the stand-ins may report that they cannot start. */
export const RAY_REFUSAL_CODES: readonly RayStartErrorCode[] = [
	"CLUSTER_UNREACHABLE",
	"RESOURCES_UNAVAILABLE",
	"VERSION_MISMATCH",
];
