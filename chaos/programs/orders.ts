import type { LivesWanted } from "./random-life/lives.ts";

/** What the workers of a host are. */
export type WorkerKind = "python" | "shell" | "node";

/** A protection that a host asks for, by its stable name. */
export type ProtectionName = "watchdog" | "guard";

/** The one argument of the host program, as JSON. */
export interface HostOrders {
	readonly dataDir: string;
	readonly worker: WorkerKind;
	readonly size: number;
	readonly protections: readonly ProtectionName[];
	/** Laid over the options of the pool; values that JSON can carry. */
	readonly pool?: Readonly<Record<string, unknown>>;
	/** Memory that the host touches before it starts anything, in megabytes. */
	readonly ballastMb?: number;
	/** Another program for the workers than that of their kind. */
	readonly program?: string;
	/** Whether Python workers are forked from a preloaded parent; `"tools"`: from one that has imported the tools. */
	readonly preload?: boolean | "tools";
	/** How Python workers and the host talk; gRPC by default. */
	readonly transport?: "grpc" | "framed";
	/** Types of events that the host tells beside those that every case needs. */
	readonly events?: readonly string[];
}

/** One line to the host's standard input, as JSON. */
export type HostOrder =
	/** Calls a tool on every worker at once, or on one; answers `{ done: id }`, or `{ failed: id, code }`. */
	| {
			readonly id: string;
			readonly call: string;
			readonly args?: unknown;
			readonly times?: number;
			readonly retries?: number;
	  }
	/** Opens as many descriptors as it can, again and again, or lets go of them. */
	| { readonly descriptors: "take" | "free" }
	/** Tells what is held after a full collection; takes a host that was started with `--expose-gc`. */
	| { readonly measure: "heap" }
	/** So many calls of the tools in `value_tools.py`; answers `{ values: report }`. */
	| { readonly values: { readonly seed: number; readonly calls: number } }
	/** Pools of their own, of which everything is asked at random; answers `{ lives: report }`. */
	| { readonly lives: LivesWanted }
	/** Keeps the event loop from turning. */
	| { readonly blockMs: number }
	| {
			readonly end:
				| "exit"
				| "throw"
				| "reject"
				| "throw in the exit hook"
				| "abort"
				| "close"
				| "run out of work";
	  };
