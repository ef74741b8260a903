import type { Display } from "./display.ts";
import { narrate } from "./narration.ts";
import { sayProgress } from "./progress-bar.ts";

/** Shows everything as lines, for files, pipes and screen readers. */
export function plainDisplay(write: (text: string) => void): Display {
	let tenths = 0;
	const say = (line: string) => write(`${line}\n`);
	return {
		hear(event) {
			const line = narrate(event);
			if (line !== undefined) say(line);
		},
		say,
		progress(progress) {
			const reached = Math.floor((10 * progress.done) / progress.total);
			if (reached <= tenths) return;
			tenths = reached;
			say(sayProgress(progress));
		},
		close() {},
	};
}
