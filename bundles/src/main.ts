import assert from "node:assert/strict";
import { makeProject } from "./project.ts";
import { WAYS, type Way } from "./ways.ts";

/** What the program says, however it was built. */
const ANSWERS = {
	echo: [42],
	grpc: 5,
	framed: String(2n ** 70n + 1n),
	refused: "InputError INVALID_ARGUMENTS",
	protections: { watchdog: "started", guard: "started" },
};

const asked = process.argv.slice(2).filter((each) => each !== "--");
const ways = WAYS.filter(
	({ name }) => asked.length === 0 || asked.some((each) => name.includes(each)),
);
if (ways.length === 0) {
	const names = WAYS.map(({ name }) => name).join("; ");
	console.error(
		`test:bundles takes parts of the names of ways to build a program: ${names}.`,
	);
	process.exit(2);
}

const project = makeProject(new Set(ways.flatMap(({ bundlers }) => bundlers)));
const failed: string[] = [];
const skipped: string[] = [];
for (const way of ways) await attempt(way);
const tries = ways.length - skipped.length;
console.log(
	`${tries - failed.length} of ${tries} ways to build a program work${failed.length === 0 ? "." : `; not: ${failed.join("; ")}.`}${skipped.length === 0 ? "" : ` Not tried: ${skipped.join("; ")}.`}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;

async function attempt({ name, problem, run }: Way): Promise<void> {
	console.log(`\n== ${name}`);
	const why = problem?.(project);
	if (why !== undefined) {
		console.log(`skipped: ${why}`);
		skipped.push(name);
		return;
	}
	const begun = performance.now();
	try {
		assert.deepEqual(JSON.parse(await run(project)), ANSWERS);
	} catch (error) {
		console.error(error);
		failed.push(name);
	}
	const seconds = ((performance.now() - begun) / 1000).toFixed(1);
	console.log(`${failed.includes(name) ? "failed" : "passed"}, ${seconds} s`);
}
