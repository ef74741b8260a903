import type { LaunchSpec, WorkerSlot } from "../contract/launch.ts";
import type { WorkerEnd } from "../contract/process-registry.ts";
import type {
	LifelineListener,
	StartedProcess,
	World,
} from "../contract/world.ts";
import { fingerprint } from "./fingerprint.ts";
import { GivenDescriptors } from "./given-descriptors.ts";
import { type Lifeline, listenFor } from "./lifeline.ts";
import { processSpec, type SpecSetting } from "./process-spec.ts";

/** Which process it is in the ledger, and its private directories. */
export interface ProcessPlace
	extends Pick<WorkerSlot, "incarnation" | "workerId" | "pool" | "directory"> {
	/** Whether the caller has made `directory`, and removes it if there is no process. */
	readonly hasDirectory?: boolean | undefined;
	/** In shared memory, where it has one. */
	readonly sharedDirectory?: string | undefined;
}

/** A process of the run, and what was made for it. */
export interface OwnedProcess {
	readonly process: StartedProcess;
	readonly lifeline: LifelineListener | undefined;
	readonly descriptors: GivenDescriptors;
	readonly files: readonly string[];
}

/**
 * Starts a process that no end of this program leaves behind: reserve, make its
 * directories, listen for its lifeline, spawn, record.
 *
 * The reservation is in the ledger's file before there is a process, and the process is
 * recorded in the turn in which it is spawned: a host that is killed in between
 * leaves a trace that the next start of any program finds.
 *
 * @param assertWanted called in the turn of the spawn; throws when the process is not wanted any more.
 * @throws StartError `SPAWN_FAILED`, RegistryError, or what `assertWanted` throws; nothing is left then.
 */
export async function startOwned(
	spec: LaunchSpec,
	place: ProcessPlace,
	setting: SpecSetting,
	{ registry, host, source }: Pick<World, "registry" | "host" | "source">,
	assertWanted: () => void,
): Promise<OwnedProcess> {
	const { incarnation, workerId, pool, directory, sharedDirectory } = place;
	const files = [directory, sharedDirectory].filter(
		(path) => path !== undefined,
	);
	registry.reserve({
		...{ incarnation, workerId, pool, files },
		fingerprint: fingerprint(spec),
	});
	const made: string[] = [];
	const descriptors = new GivenDescriptors();
	let lifeline: Lifeline | undefined;
	try {
		for (const path of files) {
			if (path === directory && place.hasDirectory === true) continue;
			host.createDirectory(path);
			made.push(path);
		}
		lifeline = await listenFor(spec, directory, host);
		const { launcher } = lifeline ?? {};
		const maker = launcher === undefined ? host : "launcher";
		await descriptors.open(spec.descriptors ?? [], directory, maker);
		assertWanted();
		const process = await source.start(
			processSpec(spec, place, setting, {
				launcher,
				descriptors: descriptors.opened,
			}),
			(identity) =>
				registry.activate(
					...([incarnation, identity, identity.pid] as const),
					lifeline === undefined ? "none" : "listening",
				),
		);
		descriptors.close();
		return { process, lifeline: lifeline?.listener, descriptors, files };
	} catch (error) {
		descriptors.close();
		lifeline?.listener.close();
		host.remove(made);
		registry.end(incarnation, {
			exit: undefined,
			reason: "start_failed",
			killer: "none",
		});
		throw error;
	}
}

/**
 * Removes what was made for a process, and records its end.
 *
 * One that does not die keeps its row and its files: the next start of any
 * program finds them.
 */
export function recordEnd(
	{ process, lifeline, files }: OwnedProcess,
	incarnation: string,
	end: WorkerEnd,
	{ registry, host }: Pick<World, "registry" | "host">,
): void {
	for (const stream of process.streams.values()) stream.destroy();
	lifeline?.close();
	if (end.exit === undefined) return;
	host.remove(files);
	registry.end(incarnation, end);
}
