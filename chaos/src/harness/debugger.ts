import { once } from "node:events";
import type { HostProcess } from "./host-process.ts";

/** A debugger that is attached to a host. */
export interface DebuggerSession extends AsyncDisposable {
	/** Resolves when the host stands still. */
	pause(): Promise<void>;
	resume(): Promise<void>;
}

/** Attaches to a host that runs with `--inspect`: the address is in what it printed. */
export async function attachDebugger(
	host: HostProcess,
): Promise<DebuggerSession> {
	const address = /ws:\/\/\S+/.exec(host.errors)?.[0];
	if (!address) throw new Error(`No debugger listens: ${host.errors}`);
	const socket = new WebSocket(address);
	await once(socket, "open");
	let last = 0;
	const waiting = new Map<number | string, () => void>();
	socket.addEventListener("message", ({ data }) => {
		const { id, method } = JSON.parse(String(data));
		waiting.get(id ?? method)?.();
	});
	const heard = (what: number | string): Promise<void> =>
		new Promise((resolve) => waiting.set(what, resolve));
	const send = async (method: string): Promise<void> => {
		const id = ++last;
		const answered = heard(id);
		socket.send(JSON.stringify({ id, method }));
		await answered;
	};
	await send("Debugger.enable");
	return {
		pause: async () => {
			const paused = heard("Debugger.paused");
			await send("Debugger.pause");
			await paused;
		},
		resume: () => send("Debugger.resume"),
		[Symbol.asyncDispose]: async () => socket.close(),
	};
}
