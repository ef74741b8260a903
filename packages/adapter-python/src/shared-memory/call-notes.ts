import { BegunMarks } from "./begun-marks.ts";
import { CallPage } from "./call-page.ts";

/** Opens the page in which a worker notes which calls it began; `undefined` if there is none. */
export function openCallNotes(
	path: string | undefined,
	callsPerWorker: number,
): {
	readonly callPage: CallPage | undefined;
	readonly begunMarks: BegunMarks | undefined;
} {
	const isThere = path !== undefined;
	const takesOne = callsPerWorker === 1;
	return {
		callPage: isThere && takesOne ? CallPage.open(path) : undefined,
		begunMarks: isThere && !takesOne ? BegunMarks.open(path) : undefined,
	};
}
