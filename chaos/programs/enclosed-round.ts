// Runs one round in a pid namespace and prints its outcome as JSON.
import { SeededRandom } from "@snakepit/core/testing";
import { reuseAPid } from "../src/cases/identities.ts";
import type { RoundOutcome } from "../src/harness/chaos-case.ts";
import { assertEnclosed, type EnclosedRound } from "../src/harness/enclosed.ts";
import { Stage } from "../src/harness/stage.ts";

const ROUNDS: Readonly<
	Record<EnclosedRound, (stage: Stage) => Promise<RoundOutcome>>
> = { "reuse-a-pid": reuseAPid };

assertEnclosed();
const [name = "", seed] = process.argv.slice(2);
await using stage = await Stage.open(new SeededRandom(Number(seed)), []);
const outcome = await ROUNDS[name as EnclosedRound](stage);
console.log(JSON.stringify(outcome));
