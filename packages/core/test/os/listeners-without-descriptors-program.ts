/** Uses up its descriptors, makes a listener, and prints why that is impossible. */
import { openSync } from "node:fs";
import { bindListener } from "../../src/os/listeners.ts";

const held: number[] = [];
try {
	while (true) held.push(openSync("/dev/null", "r"));
} catch {
	// None is left.
}
await bindListener().catch(({ code }) => console.log(code));
