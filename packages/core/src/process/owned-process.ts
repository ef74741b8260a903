import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { INCARNATION_VARIABLE, MARKER_VARIABLE } from "../contract/identity.ts";
import type {
	LaunchDescriptor,
	LaunchSpec,
	ListenerAddress,
	WorkerSlot,
} from "../contract/launch.ts";
import type { EndReason, WorkerEnd } from "../contract/process-registry.ts";
import type {
	InheritedDescriptor,
	Launcher,
	LifelineListener,
	ProcessHost,
	ProcessSpec,
	StartedProcess,
	World,
} from "../contract/world.ts";

/** Which process it is in the ledger, and its private directories. */
export interface ProcessSlot
	extends Pick<WorkerSlot, "incarnation" | "workerId" | "pool" | "directory"> {
	/** Whether the caller has made `directory`, and removes it if there is no process. */
	readonly hasDirectory?: boolean | undefined;
	/** In shared memory, where it has one. */
	readonly sharedDirectory?: string | undefined;
	/** Why there is no process, by what was thrown; by default its start has failed. */
	readonly endedAs?: ((thrown: unknown) => EndReason) | undefined;
}

/** A process of the run, and what was made for it. */
export interface OwnedProcess {
	readonly process: StartedProcess;
	readonly lifeline: LifelineListener | undefined;
	readonly descriptors: InheritedDescriptors;
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
	slot: ProcessSlot,
	environment: InheritedEnvironment,
	{ registry, host, source }: Pick<World, "registry" | "host" | "source">,
	assertWanted: () => void,
): Promise<OwnedProcess> {
	const { incarnation, workerId, pool, directory, sharedDirectory } = slot;
	const files = [directory, sharedDirectory].filter(
		(path) => path !== undefined,
	);
	registry.reserve({
		...{ incarnation, workerId, pool, files },
		fingerprint: fingerprint(spec),
	});
	const paths: string[] = [];
	const descriptors = new InheritedDescriptors();
	let lifeline: Lifeline | undefined;
	try {
		for (const path of files) {
			if (path === directory && slot.hasDirectory === true) continue;
			host.createDirectory(path);
			paths.push(path);
		}
		lifeline = await listenFor(spec, directory, host);
		const { launcher } = lifeline ?? {};
		const maker = launcher === undefined ? host : "launcher";
		await descriptors.open(spec.descriptors ?? [], directory, maker);
		assertWanted();
		const process = await source.start(
			processSpec(spec, slot, environment, {
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
		host.remove(paths);
		registry.end(incarnation, {
			exit: undefined,
			reason: slot.endedAs?.(error) ?? "start_failed",
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

/** What the processes of a pool have in common. */
export interface InheritedEnvironment {
	/** The value of the marker variable. */
	readonly marker: string;
	/** The environment that workers inherit, before the adapter's own. */
	readonly environment: Readonly<Record<string, string | undefined>>;
	/** The variables with the context in which a process is started; for those whose `traceContext` wants them. */
	readonly contextOf?:
		| ((incarnation: string) => Readonly<Record<string, string>>)
		| undefined;
	/** What `ProcessSpec.unobserved` is for a process that is started now. */
	readonly unobserving?: (() => ProcessSpec["unobserved"]) | undefined;
}

/**
 * What the operating system is asked to execute: the adapter's wish, with the
 * host's environment below it and the marker above it.
 */
export function processSpec(
	spec: LaunchSpec,
	{ incarnation }: Pick<WorkerSlot, "incarnation">,
	{ marker, environment, contextOf, unobserving }: InheritedEnvironment,
	opened: Pick<ProcessSpec, "launcher" | "descriptors"> = {},
): ProcessSpec {
	const env: Record<string, string> = {};
	const wished = {
		...inherited(environment, spec.inheritEnv),
		...(spec.traceContext === "environment" && contextOf?.(incarnation)),
		...spec.env,
	};
	for (const [name, value] of Object.entries(wished)) {
		if (value !== undefined) env[name] = value;
	}
	env[MARKER_VARIABLE] = marker;
	env[INCARNATION_VARIABLE] = incarnation;
	return {
		executable: spec.executable,
		args: spec.args ?? [],
		env,
		cwd: spec.cwd,
		stdin: spec.stdio === "adapter" ? "pipe" : (spec.stdin ?? "empty"),
		control: spec.launchPayload !== undefined,
		unobserved: unobserving?.(),
		...opened,
	};
}

/** What a program needs in order to find other programs, files and the user's language. */
const MINIMAL: readonly string[] = [
	...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "TERM"],
	...["LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES"],
	// Certificates: their paths are no secrets. Without them, no connection succeeds in a network with its own authority.
	...["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"],
	...["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NO_PROXY", "no_proxy"],
];
/** The way to the network, where there is but one. */
const PROXIES: readonly string[] = [
	...["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"],
	...["ALL_PROXY", "all_proxy"],
];

function inherited(
	environment: Readonly<Record<string, string | undefined>>,
	which: LaunchSpec["inheritEnv"] = "all",
): Readonly<Record<string, string | undefined>> {
	if (which === "all") return environment;
	// By name: to list all of this program's own environment takes longer than the rest of a start in this program.
	const proxies = PROXIES.filter((name) => !hasPassword(environment[name]));
	const asked = which === "minimal" ? [] : which;
	const names = [...MINIMAL, ...proxies, ...asked];
	return Object.fromEntries(names.map((name) => [name, environment[name]]));
}

/** Whether a URL may have one: `http://user:password@host`. */
function hasPassword(url = ""): boolean {
	return url.includes("@");
}

/** What is executed, for people who read the ledger: the program's name and a hash of its arguments, which may be private. */
export function fingerprint(spec: LaunchSpec): string {
	const digest = createHash("sha256")
		.update(JSON.stringify([spec.executable, spec.args]))
		.digest("hex");
	return `${basename(spec.executable)}#${digest.slice(0, 12)}`;
}

/** What one process finds open besides 0, 1 and 2. */
export class InheritedDescriptors {
	readonly opened: ReadonlyMap<number, InheritedDescriptor>;
	readonly #opened = new Map<number, InheritedDescriptor>();
	/** Those of listeners that the launcher made. */
	#ports: ReadonlyMap<number, number> = new Map();

	constructor() {
		this.opened = this.#opened;
	}

	/**
	 * @param directory the process's own.
	 * @param maker who makes listeners: the launcher, where there is one, since it can do so below every process source.
	 * @throws StartError when a listener cannot be made; close those that were.
	 */
	async open(
		asked: readonly LaunchDescriptor[],
		directory: string,
		maker: "launcher" | Pick<ProcessHost, "bindListener">,
	): Promise<void> {
		for (const { fd, kind } of asked) {
			const path =
				kind === "unix-listener" ? join(directory, `${fd}`) : undefined;
			if (kind === "stream") this.#opened.set(fd, kind);
			else if (maker === "launcher") this.#opened.set(fd, { path });
			else this.#opened.set(fd, await maker.bindListener(path));
		}
	}

	/** The program runs. @param ports of the listeners that the launcher made. */
	executed(ports: ReadonlyMap<number, number>): void {
		this.#ports = ports;
	}

	/** Closes this program's copies of the listeners: the program has its own, or there will be none. */
	close(): void {
		for (const each of this.#opened.values())
			if (each !== "stream" && "fd" in each) each.close();
	}

	/** @throws TypeError when there is no such listener. */
	address(fd: number): ListenerAddress {
		const listener = this.#opened.get(fd);
		if (listener === undefined || listener === "stream")
			throw new TypeError(
				`listener(${fd}): launch() asked for no listener with this number.`,
			);
		if ("fd" in listener) return listener.address;
		const { path } = listener;
		// Without a port, the process is gone: 0 is never a listening port.
		return path === undefined
			? { host: "127.0.0.1", port: this.#ports.get(fd) ?? 0 }
			: { path };
	}
}

/** What ends a process with this program, whatever ends this program. */
interface Lifeline {
	readonly listener: LifelineListener;
	/** Connects the process; absent where it does so itself. */
	readonly launcher: Launcher | undefined;
}

/**
 * Listens for the lifeline of a process.
 *
 * @param directory its own.
 * @returns `undefined` for a process that has none: it knows of no lifeline, and there is no launcher or must be none.
 */
async function listenFor(
	{ launchPayload, lifeline = "auto" }: LaunchSpec,
	directory: string,
	host: ProcessHost,
): Promise<Lifeline | undefined> {
	const path = join(directory, "l");
	if (launchPayload !== undefined)
		return { listener: await host.listenLifeline(path), launcher: undefined };
	const binary = lifeline === "auto" ? host.nativeBinary() : undefined;
	if (binary === undefined) return undefined;
	const listener = await host.listenLifeline(path);
	return { listener, launcher: { binary, lifeline: listener.path } };
}
