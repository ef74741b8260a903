import type { ProcessEvents } from "../../src/os/this-program.ts";

type Listener = () => void;

/** The program's own events, on demand. */
export class FakeProcessEvents implements ProcessEvents {
	readonly mainThread: boolean;
	readonly endedBy: NodeJS.Signals[] = [];
	readonly warnings: string[] = [];
	readonly listeners: Map<string, Set<Listener>> = new Map();

	constructor(mainThread = true) {
		this.mainThread = mainThread;
	}

	/** Before everybody who listens already, as the real ones do. */
	onSignal(signal: NodeJS.Signals, listener: Listener): Listener {
		const others = [...(this.listeners.get(signal) ?? [])];
		this.listeners.get(signal)?.clear();
		const leave = this.listen(signal, listener);
		for (const other of others) this.listen(signal, other);
		return leave;
	}

	listenOnce(event: string): void {
		const leave = this.listen(event, () => leave());
	}

	otherListeners(signal: NodeJS.Signals): number {
		return (this.listeners.get(signal)?.size ?? 0) - 1;
	}

	onExit(listener: Listener): Listener {
		return this.listen("exit", listener);
	}

	onBeforeExit(listener: Listener): Listener {
		return this.listen("beforeExit", listener);
	}

	endBy(signal: NodeJS.Signals): void {
		this.endedBy.push(signal);
	}

	exitCode(): number {
		return 0;
	}

	warn(message: string): void {
		this.warnings.push(message);
	}

	listen(event: string, listener: Listener): Listener {
		const all = this.listeners.get(event) ?? new Set();
		this.listeners.set(event, all.add(listener));
		return () => void all.delete(listener);
	}

	happen(event: string): void {
		for (const listener of [...(this.listeners.get(event) ?? [])]) listener();
	}

	/** What is listened to, and how often. */
	get installed(): object {
		return Object.fromEntries(
			[...this.listeners]
				.map(([event, all]) => [event, all.size])
				.filter(([, count]) => count !== 0),
		);
	}
}
