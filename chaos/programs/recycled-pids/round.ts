// One round in a private pid namespace: recycles at least so many pids, and prints what came of it as JSON.
import type { RoundOutcome } from "../../src/harness/chaos-case.ts";
import { assertEnclosed } from "../../src/harness/enclosed.ts";
import type { RecycledPath } from "./paths.ts";
import { SCENES } from "./scenes.ts";
import { Strangers } from "./strangers.ts";

assertEnclosed();
const [name = "", count = "1"] = process.argv.slice(2);
const scene = SCENES[name as RecycledPath];
using strangers = new Strangers();
let rounds = 0;
while (strangers.recycled < Number(count)) {
	if (++rounds > Number(count))
		throw new Error(`Only ${strangers.recycled} pids of ${count} were reused.`);
	await scene(strangers);
	strangers.count();
}
const outcome: RoundOutcome & { readonly recycled: number } = {
	wrongKills: strangers.killed,
	recycled: strangers.recycled,
};
console.log(JSON.stringify(outcome));
process.exit();
