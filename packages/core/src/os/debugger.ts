import { createRequire } from "node:module";
import { withFallback } from "../contract/thrown.ts";

/** Whether a debugger is attached to this process or may attach: a stop at a breakpoint is no hang. */
export function debuggerAttached(): boolean {
	return withFallback(false, () => {
		// Loaded at use: a Node built without the inspector throws here. From any path:
		// the module is Node's own, and a bundle may not know its own path.
		const inspector = createRequire("/")("node:inspector");
		return inspector.url() !== undefined;
	});
}
