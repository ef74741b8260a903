// One round in a private pid namespace: `round.ts PATH PIDS`. Prints its outcome as JSON.
import { assertEnclosed } from "../../src/harness/isolation.ts";
import type { RecycledPath } from "./paths.ts";
import type { Scene } from "./strangers.ts";

assertEnclosed();
const [path = "", pids] = process.argv.slice(2);
// Loaded only in a namespace.
const { Strangers } = await import("./strangers.ts");
const SCENES: Readonly<Record<RecycledPath, Scene>> = {
	...(await import("./own-children.ts")),
	...(await import("./other-owners.ts")),
};
const wanted = Number(pids);
using strangers = new Strangers();
for (let rounds = 0; strangers.recycled < wanted; rounds++) {
	if (rounds === wanted)
		throw new Error(
			`Only ${strangers.recycled} of ${wanted} pids were reused.`,
		);
	await SCENES[path as RecycledPath](strangers);
	strangers.count();
}
console.log(JSON.stringify({ wrongKills: strangers.killed }));
// Processes that a scene leaves running end with the namespace.
process.exit();
