import { join } from "node:path";
import type { PythonAdapter, PythonOptions } from "@snakepit/adapter-python";
import {
	type BridgeProgram,
	pythonAdapter,
} from "@snakepit/adapter-python/transport";
import type {
	Adapter,
	CompanionSlot,
	Connection,
	LaunchSpec,
	LocatedRun,
	WorkerCompanion,
	WorkerProcess,
	WorkerSlot,
} from "@snakepit/core/adapter";
import type { LayerReport } from "@snakepit/core/protection";
import {
	type ClusterOptions,
	type RayPythonOptions,
	resolveOptions,
} from "./options.ts";
import {
	type GatewayFacts,
	gatewayOf,
	RELAYED,
	ReportedUsage,
	relayOf,
} from "./relay-connection.ts";
import { RAY_REFUSAL_CODES } from "./start-error-codes.ts";

/** What `rayPython` returns. */
export type RayPythonAdapter = PythonAdapter &
	Required<Pick<Adapter, "companion">>;

/** The descriptor on which a stand-in reports the resource use of its worker. */
const USAGE_DESCRIPTOR = 4;

/**
 * An adapter whose workers are Python processes on the nodes of a Ray cluster. Each has a stand-in here, a small process
 * that is ready, prints and ends as the worker does; one gateway for each pool, its companion, is the only client of Ray.
 *
 * @throws OptionsError
 */
export function rayPython(options: RayPythonOptions): RayPythonAdapter {
	const { cluster, python } = resolveOptions(options);
	const inner = pythonAdapter(python, {
		name: "ray-python",
		maker: "rayPython",
		transport: RELAYED,
	});
	return new RayWorkers(inner, cluster, python);
}

class RayWorkers implements RayPythonAdapter {
	readonly name: string;
	readonly madeFrom: unknown;
	private readonly inner: PythonAdapter & BridgeProgram;
	private readonly cluster: ClusterOptions;
	private readonly python: PythonOptions;

	constructor(
		inner: PythonAdapter & BridgeProgram,
		cluster: ClusterOptions,
		python: PythonOptions,
	) {
		this.python = python;
		this.name = inner.name;
		this.madeFrom = { cluster, python: inner.madeFrom };
		this.inner = inner;
		this.cluster = cluster;
	}

	adopt(next: Adapter): void {
		this.inner.adopt?.((next as RayWorkers).inner);
	}

	async prepare(signal: AbortSignal): Promise<void> {
		await this.inner.prepare?.(signal);
	}

	notes(): readonly string[] {
		return this.inner.notes?.() ?? [];
	}

	describe(signal?: AbortSignal): ReturnType<PythonAdapter["describe"]> {
		return this.inner.describe(signal);
	}

	async inspect(): Promise<LayerReport> {
		const { inspectCluster } = await import("./inspect-cluster.ts");
		return await inspectCluster(this.name, this.python, this.cluster.address);
	}

	companion(slot: CompanionSlot): LaunchSpec {
		const { cluster } = this;
		return this.program("gateway", slot, {
			...cluster,
			socket: gatewaySocket(slot),
			pool: slot.pool,
			runsElsewhere: slot.runsElsewhere,
		});
	}

	located({ ready }: WorkerCompanion): readonly LocatedRun[] {
		return (ready as GatewayFacts).located;
	}

	launch(slot: WorkerSlot): LaunchSpec {
		const { CPU } = this.cluster.resources;
		const spec = this.program("stand-in", slot, {
			companion: { socket: gatewaySocket(slot.companion) },
			env: this.inner.workerEnv(slot, Math.max(1, Math.floor(CPU ?? 1))),
			sharedMemory: this.inner.sharingLimits(),
		});
		return {
			...spec,
			descriptors: [{ fd: USAGE_DESCRIPTOR, kind: "stream" }],
		};
	}

	async connect(
		worker: WorkerProcess,
		signal: AbortSignal,
	): Promise<Connection> {
		const usage = new ReportedUsage(worker.descriptor(USAGE_DESCRIPTOR));
		const { node, pid } = relayOf(worker);
		const { id, name, address } = node;
		const connection = await this.inner.connect(worker, signal);
		return Object.assign(connection, {
			location: { name, address, pid },
			usage: () => usage.latest,
			facts: { node: id, ray: gatewayOf(worker).ray },
		});
	}

	/** The command that runs a program of the bridge's cluster package. */
	private program(
		command: "gateway" | "stand-in",
		slot: CompanionSlot | WorkerSlot,
		payload: object,
	): LaunchSpec {
		const spec = this.inner.program(command, slot);
		return {
			...spec,
			refusalCodes: [...(spec.refusalCodes ?? []), ...RAY_REFUSAL_CODES],
			launchPayload: { ...(spec.launchPayload as object), ...payload },
		};
	}
}

/** The socket on which the gateway accepts the stand-ins of its pool; the name is one letter, because the length of a socket's path is limited. */
function gatewaySocket(
	slot: Pick<CompanionSlot, "directory"> | undefined,
): string {
	return join(slot?.directory ?? "", "g");
}
