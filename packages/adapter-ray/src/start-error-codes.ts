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
	/**
	 * The directories of the tools have more than the 100 MB that every node would get.
	 * @remedy Put the tools in a directory of their own, or leave files out with `runtimeEnv: { excludes: [...] }`.
	 */
	readonly TOOLS_TOO_LARGE: "no";
	/**
	 * Ray could not make the environment of `runtimeEnv` on a node.
	 * @remedy The message has Ray's reason, such as a package that pip does not find there.
	 */
	readonly RUNTIME_ENV_FAILED: "no";
	/**
	 * A file of `connection.tls` cannot be read on this machine, or is not what it should be.
	 * @remedy The message has the reason. The paths must be valid on every node.
	 */
	readonly TLS_UNREADABLE: "no";
}

export type RayStartErrorCode = keyof RayStartErrorCodes | PythonStartErrorCode;
/** The cluster, or a worker on it, cannot be used. */
export type RayStartError = StartError<RayStartErrorCode>;

/** The additional codes with which the gateway and the stand-ins may report that they cannot start. */
export const RAY_REFUSAL_CODES: readonly RayStartErrorCode[] = [
	"CLUSTER_UNREACHABLE",
	"RESOURCES_UNAVAILABLE",
	"RUNTIME_ENV_FAILED",
	"TLS_UNREADABLE",
	"TOOLS_TOO_LARGE",
	"VERSION_MISMATCH",
];
