import {
	endLeftover,
	leftoversAreSeen,
	leftoversOf,
	shownLeftover,
} from "./leftovers.ts";

/** What is killed is gone soon; what is there still, or again, is killed once more. */
const KILLED_MS = 1_000;
const MOST_LOOKS = 10;

/** Ends what the tests of a run have left, and says so. Returns the failures that it counts for. */
export async function reportLeftovers(
	name: string,
	run: string,
): Promise<number> {
	if (!leftoversAreSeen) {
		console.log(
			`Processes that ${name} leaves are looked for on Linux only: nothing was looked at.`,
		);
		return 0;
	}
	let left = await leftoversOf(run);
	if (left.length === 0) return 0;
	console.error(
		`\n${name} left processes behind, which are ended now: counted as one failure`,
	);
	// What is listed may fork before it is killed.
	for (let look = 0; left.length > 0 && look < MOST_LOOKS; look++) {
		for (const each of left) {
			console.error(shownLeftover(each));
			endLeftover(each);
		}
		left = await leftoversOf(run, KILLED_MS);
	}
	for (const each of left) console.error(`still there: ${shownLeftover(each)}`);
	return 1;
}
