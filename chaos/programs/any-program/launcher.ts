import type { ProtectionName } from "../worker-adapter.ts";

/** How a program of the table is started: as people usually do it, or as the worker of a pool. */
export type Launcher =
	| { readonly kind: "usual" }
	| {
			readonly kind: "pool";
			readonly dataDir: string;
			readonly protections: readonly ProtectionName[];
	  };

/** A program of the table, and how it is started. */
export interface AnyProgram {
	readonly name: string;
	/** With what it is usually started. */
	readonly usual: string;
	/** Resolves when it is running and does what its name says. */
	start(launcher: Launcher): Promise<void>;
}
