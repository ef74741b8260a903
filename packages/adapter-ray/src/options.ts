import type { PythonOptions } from "@snakepit/adapter-python";
import { PYTHON_CHECKS } from "@snakepit/adapter-python/transport";
import {
	type Check,
	checkOptions,
	milliseconds,
	nonEmptyText,
	oneOf,
	optional,
} from "@snakepit/core/options";

/** Python workers on a Ray cluster: the options of `python()` that apply there, and where each worker runs. */
export interface RayPythonOptions
	extends Omit<
		PythonOptions,
		"cwd" | "debug" | "preload" | "sharedMemory" | "watch"
	> {
	/**
	 * The head of the cluster, such as `"10.0.0.1:6379"`; this machine must be a node of it. `"auto"`: `RAY_ADDRESS`, or
	 * the cluster of this machine.
	 * @default "auto"
	 */
	readonly address?: string | undefined;
	/** What each worker reserves on its node, by Ray's names. */
	readonly resources?: ResourceOptions | undefined;
	/** On which node a worker starts: `"spread"` over all, `"pack"` on few, or on one. @default "spread" */
	readonly placement?: Placement | undefined;
	/**
	 * What the nodes need besides the tools and the bridge, as Ray describes it: `{ pip: ["numpy"] }`, for example.
	 * `excludes` are patterns of files in the tools' directories that are not sent.
	 */
	readonly runtimeEnv?: Readonly<Record<string, unknown>> | undefined;
	/** The connections to the workers, which are encrypted and authenticated on both sides. */
	readonly connection?: ConnectionOptions | undefined;
}

/** What a worker reserves. */
export interface ResourceOptions {
	/** Processors; fractions are allowed. @default 1 */
	readonly CPU?: number | undefined;
	/** GPUs; fractions are allowed. @default 0 */
	readonly GPU?: number | undefined;
	/** Custom resources of the cluster, by name. */
	readonly custom?: Readonly<Record<string, number>> | undefined;
}

/** On which node a worker starts; `node` is an id of Ray or an address. */
export type Placement = "spread" | "pack" | { readonly node: string };

/** The connections to the workers. */
export interface ConnectionOptions {
	/**
	 * Your own certificates, as paths that are valid on every node. By default, each pool and each worker creates a
	 * certificate and trusts only that of the other side.
	 */
	readonly tls?: TlsOptions | undefined;
	/**
	 * A connection is lost if the other end has not answered for this long. After that time, a node that was cut off runs
	 * none of the pool's processes.
	 * @default 10 000 ms
	 */
	readonly keepAliveMs?: number | undefined;
}

/** Paths of PEM files. */
export interface TlsOptions {
	/** The authority that has signed the certificate of every node. */
	readonly ca: string;
	/** The certificate of the machine that reads it. */
	readonly certificate: string;
	/** Its private key; only the user that runs Ray may read it. */
	readonly key: string;
}

/** What is not given. */
export const DEFAULTS: {
	readonly address: string;
	readonly resources: { readonly CPU: number; readonly GPU: number };
	readonly placement: "spread" | "pack";
	readonly connection: { readonly keepAliveMs: number };
} = {
	/** Most programs run on a node of the only cluster. */
	address: "auto",
	/** A worker that computes needs one processor, and few need a GPU. */
	resources: { CPU: 1, GPU: 0 },
	/** A lost node takes the fewest workers with it. */
	placement: "spread",
	/** Longer than a network needs to change a route, shorter than people wait. */
	connection: { keepAliveMs: 10_000 },
};

const isObject: Check = (value) =>
	typeof value === "object" && value !== null && !Array.isArray(value)
		? undefined
		: "must be an object";

const isAmount: Check = (value) =>
	typeof value === "number" && Number.isFinite(value) && value >= 0
		? undefined
		: "must be a number of 0 or more";

const { cwd, debug, preload, sharedMemory, watch, ...PYTHON_REST } =
	PYTHON_CHECKS;

export const RAY_PYTHON_CHECKS: Readonly<
	Record<keyof RayPythonOptions, Check>
> = {
	...PYTHON_REST,
	address: optional(
		(value) =>
			nonEmptyText(value) ??
			(String(value).startsWith("ray://")
				? "must be HOST:PORT of the cluster's head: ray:// is the address of Ray Client, which has no workers of its own; this machine must be a node of the cluster"
				: undefined),
	),
	resources: optional(isObject),
	placement: optional((value) =>
		oneOf("spread", "pack")(value) === undefined ||
		nonEmptyText((value as { node?: unknown } | null)?.node) === undefined
			? undefined
			: 'must be "spread", "pack" or { node }, with the id or the address of a node',
	),
	runtimeEnv: optional(isObject),
	connection: optional(isObject),
};

export const RESOURCE_CHECKS: Readonly<Record<keyof ResourceOptions, Check>> = {
	CPU: optional(isAmount),
	GPU: optional(isAmount),
	custom: optional((value) =>
		isObject(value) === undefined &&
		Object.values(value as object).every(
			(amount) => isAmount(amount) === undefined,
		)
			? undefined
			: "must be an object with numbers of 0 or more",
	),
};

export const CONNECTION_CHECKS: Readonly<
	Record<keyof ConnectionOptions, Check>
> = {
	tls: optional(isObject),
	keepAliveMs: optional(milliseconds(1_000)),
};

export const TLS_CHECKS: Readonly<Record<keyof TlsOptions, Check>> = {
	ca: nonEmptyText,
	certificate: nonEmptyText,
	key: nonEmptyText,
};

/** The options that are sent to the gateway. */
export interface ClusterOptions {
	readonly address: string;
	readonly resources: Required<ResourceOptions>;
	readonly placement: Placement;
	readonly runtimeEnv: Readonly<Record<string, unknown>>;
	readonly connection: {
		readonly keepAliveMs: number;
		readonly tls: TlsOptions | null;
	};
}

/**
 * Checks the options, and divides them into those of the cluster and those of Python.
 *
 * @throws OptionsError
 */
export function resolveOptions(options: RayPythonOptions): {
	readonly cluster: ClusterOptions;
	readonly python: PythonOptions;
} {
	checkOptions("rayPython", options, RAY_PYTHON_CHECKS);
	const {
		address = DEFAULTS.address,
		resources = {},
		placement = DEFAULTS.placement,
		runtimeEnv = {},
		connection = {},
		...python
	} = options;
	checkOptions("rayPython resources", resources, RESOURCE_CHECKS);
	checkOptions("rayPython connection", connection, CONNECTION_CHECKS);
	const { tls, keepAliveMs = DEFAULTS.connection.keepAliveMs } = connection;
	if (tls !== undefined)
		checkOptions("rayPython connection.tls", tls, TLS_CHECKS);
	const {
		CPU = DEFAULTS.resources.CPU,
		GPU = DEFAULTS.resources.GPU,
		custom = {},
	} = resources;
	return {
		cluster: {
			address,
			resources: { CPU, GPU, custom },
			placement,
			runtimeEnv,
			connection: { keepAliveMs, tls: tls ?? null },
		},
		// These do not apply on another machine.
		python: { ...python, preload: "off", sharedMemory: "off", watch: false },
	};
}
