import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import {
	createPool,
	type EventOf,
	type Pool,
	type SnakepitEvent,
	StartError,
} from "@snakepit/core";
import { watchdog } from "@snakepit/watchdog";
import {
	type ViewerPorts,
	type ViewerTools,
	viewerAdapter,
} from "./viewer-adapter.ts";

/** A viewer that accepts OTLP. */
export interface Viewer extends AsyncDisposable {
	/** Where it accepts OTLP over HTTP. */
	readonly otlp: string;
	/** The page for people. */
	readonly page: string;
	readonly pool: Pool<ViewerTools>;
	/** Resolves when the viewer ends by itself, with how it ended and its last output. */
	readonly lost: Promise<string>;
}

export interface ViewerOptions {
	readonly executable: string;
	/** From its spawn until it accepts OTLP. */
	readonly startWithinMs: number;
	/** From SIGTERM to SIGKILL. */
	readonly endWithinMs: number;
	/** Aborts the start. */
	readonly stop: AbortSignal;
	/** Chooses where it listens. */
	readonly ports?: () => Promise<ViewerPorts>;
}

/** How often to choose ports: another program may take one before the viewer listens. */
const CHOICES = 3;

/**
 * Starts the viewer as the only worker of a pool, which gives it what it needs:
 * its last output explains its end, and it ends with this program in any case, by
 * the watchdog if this program is killed.
 *
 * @throws StartError with its last output if it does not accept OTLP in time; nothing of it is left then.
 */
export async function openViewer(options: ViewerOptions): Promise<Viewer> {
	for (let choice = 1; ; choice++) {
		const ports = await (options.ports ?? freePorts)();
		try {
			return await openAt(ports, options);
		} catch (error) {
			const isTaken =
				error instanceof StartError &&
				error.message.includes("bind: address already in use");
			if (!isTaken || choice === CHOICES) throw error;
		}
	}
}

async function openAt(
	ports: ViewerPorts,
	{ executable, startWithinMs, endWithinMs, stop }: ViewerOptions,
): Promise<Viewer> {
	const lost = Promise.withResolvers<string>();
	const pool = await createPool<ViewerTools>({
		name: "viewer",
		adapter: viewerAdapter(executable, ports, stop),
		// A replacement would not have the data of the first one.
		size: 1,
		start: { timeoutMs: startWithinMs, maxRestarts: 0 },
		heartbeat: "off",
		// This program ends the demo before the viewer, because the demo still exports while it ends.
		onSignal: "ignore",
		stop: { killAfterMs: endWithinMs },
		output: { echo: "none" },
		protections: [watchdog()],
		onEvent: (event: SnakepitEvent) => {
			if (event.type === "worker.exited" && event.reason === "exited")
				lost.resolve(describeEnd(event));
		},
	});
	return {
		otlp: `http://127.0.0.1:${ports.http}`,
		page: `http://127.0.0.1:${ports.page}/`,
		pool,
		lost: lost.promise,
		[Symbol.asyncDispose]: () => pool.close(),
	};
}

function describeEnd({ exit, tail }: EventOf<"worker.exited">): string {
	const how =
		exit === undefined
			? "is gone"
			: exit.kind === "code"
				? `exited with code ${exit.code}`
				: `was ended by ${exit.signal}`;
	const lines = tail.map((line) => `\n  | ${line}`).join("");
	return `The viewer ${how}${lines && `; its last output:${lines}`}`;
}

/** Finds three ports of loopback that are free at the moment. */
export async function freePorts(): Promise<ViewerPorts> {
	// All are open at the same time, so that none comes twice.
	const servers = [createServer(), createServer(), createServer()];
	const [http = 0, grpc = 0, page = 0] = await Promise.all(
		servers.map(async (server) => {
			await once(server.listen(0, "127.0.0.1"), "listening");
			return (server.address() as AddressInfo).port;
		}),
	);
	await Promise.all(servers.map((server) => once(server.close(), "close")));
	return { http, grpc, page };
}
