import {
	createPool,
	type EventOf,
	type Pool,
	type SnakepitEvent,
	StartError,
} from "@snakepit/core";
import { watchdog } from "@snakepit/watchdog";
import { freePorts } from "./free-ports.ts";
import { type ViewerPorts, viewerUrls } from "./viewer.ts";
import { viewerAdapter } from "./viewer-adapter.ts";
import type { ViewerTools } from "./viewer-tools.ts";

/** A viewer that takes OTLP. */
export interface Viewer extends AsyncDisposable {
	/** Where it takes OTLP over HTTP. */
	readonly otlp: string;
	/** Where a person sees what it took. */
	readonly page: string;
	/** Its methods. */
	readonly pool: Pool<ViewerTools>;
	/** Settles when it ends by itself. */
	readonly lost: Promise<Lost>;
}

/** A viewer that ended by itself. */
export interface Lost {
	/** `was ended by SIGKILL`, with its last lines. */
	readonly how: string;
}

export interface ViewerSetting {
	readonly executable: string;
	/** From its spawn until it takes OTLP. */
	readonly startWithinMs: number;
	/** From SIGTERM to SIGKILL. */
	readonly endWithinMs: number;
	/** Aborts the start. */
	readonly signal: AbortSignal;
	/** Chooses where it listens. */
	readonly ports?: () => Promise<ViewerPorts>;
}

/** How often somebody else may take a port that was free when it was chosen. */
const CHOICES = 3;

/**
 * Starts the viewer, and chooses other ports when somebody took one.
 *
 * It is a worker of a pool, since what is wanted of it is what pools promise:
 * its output is kept and explains its end, it ends with this program in any
 * orderly way, by a watchdog when this program is killed, and by the next start
 * of any program with Snakepit when both are.
 *
 * @throws StartError when it does not take OTLP in time, with its last lines; nothing of it is left then.
 */
export async function openViewer(setting: ViewerSetting): Promise<Viewer> {
	for (let choice = 1; ; choice++) {
		const ports = await (setting.ports ?? freeViewerPorts)();
		try {
			return await openAt(ports, setting);
		} catch (error) {
			if (!isPortTaken(error) || choice === CHOICES) throw error;
		}
	}
}

async function freeViewerPorts(): Promise<ViewerPorts> {
	const [http = 0, grpc = 0, page = 0] = await freePorts(3);
	return { http, grpc, page };
}

async function openAt(
	ports: ViewerPorts,
	{ executable, startWithinMs, endWithinMs, signal }: ViewerSetting,
): Promise<Viewer> {
	const lost = Promise.withResolvers<Lost>();
	const pool = await createPool<ViewerTools>({
		name: "viewer",
		adapter: viewerAdapter(executable, ports, signal),
		// Another one would know nothing of what this one was told.
		size: 1,
		start: { timeoutMs: startWithinMs, maxRestarts: 0 },
		// It is asked by nobody but the person in front of it.
		heartbeat: "off",
		// The demo ends first: it still has to tell how.
		stop: { onSignal: "ignore", killAfterMs: endWithinMs },
		output: { echo: "none" },
		protections: [watchdog()],
		onEvent: (event: SnakepitEvent) => {
			if (event.type === "worker.exited" && event.reason === "exited")
				lost.resolve({ how: describeEnd(event) });
		},
	});
	return {
		...viewerUrls(ports),
		pool,
		lost: lost.promise,
		[Symbol.asyncDispose]: () => pool.close(),
	};
}

/** As Go words it; its log has it among the last lines. */
function isPortTaken(error: unknown): boolean {
	return (
		error instanceof StartError &&
		/bind: address already in use/.test(error.message)
	);
}

function describeEnd({ exit, tail }: EventOf<"worker.exited">): string {
	const how =
		exit === undefined
			? "is gone"
			: exit.kind === "code"
				? `exited with code ${exit.code}`
				: `was ended by ${exit.signal}`;
	const lines = tail.map((line) => `\n  | ${line}`).join("");
	return `${how}${lines === "" ? ", without a word" : `; its last lines:${lines}`}`;
}
