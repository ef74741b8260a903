import {
	endLeftover,
	leftoversAreSeen,
	leftoversOf,
	shownLeftover,
} from "./leftovers.ts";

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
	const left = await leftoversOf(run);
	if (left.length === 0) return 0;
	console.error(
		`\n${name} left processes behind, which are ended now (${left.length}): counted as one failure`,
	);
	for (const each of left) {
		console.error(shownLeftover(each));
		endLeftover(each);
	}
	return 1;
}
