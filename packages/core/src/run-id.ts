import type { Random } from "./world.ts";

/**
 * Names one life of a host: seven lower-case base-36 characters, five of the
 * time in seconds and two of chance.
 *
 * Short enough to be read in `ps`. Not unique by itself: the registry makes it
 * so by creating the run's file exclusively and drawing again on a collision.
 */
export type RunId = string & { readonly __brand: "RunId" };

const TIME_DIGITS = 5;
const CHANCE_DIGITS = 2;
const TIME_CYCLE = 36 ** TIME_DIGITS;
const CHANCE_RANGE = 36 ** CHANCE_DIGITS;
/** So many seconds may a clock have been ahead. */
const FUTURE = 24 * 60 * 60;
const PATTERN = /^[0-9a-z]{7}$/;

/**
 * Draws a run id.
 *
 * @param wallMs milliseconds since the Unix epoch; the time part repeats after
 *   36⁵ seconds (1.9 years).
 */
export function generateRunId(wallMs: number, random: Random): RunId {
	const seconds = Math.floor(wallMs / 1000) % TIME_CYCLE;
	const chance = Math.floor(random.fraction() * CHANCE_RANGE);
	return (seconds.toString(36).padStart(TIME_DIGITS, "0") +
		chance.toString(36).padStart(CHANCE_DIGITS, "0")) as RunId;
}

/**
 * When a run id was drawn, in milliseconds since the Unix epoch and to the
 * second: the last such moment before `nowMs`, since the time part repeats.
 */
export function drawnAt(runId: RunId, nowMs: number): number {
	const now = Math.floor(nowMs / 1000);
	const part = Number.parseInt(runId.slice(0, TIME_DIGITS), 36);
	const sinceThen = (now - part) % TIME_CYCLE;
	// A clock that was set back leaves ids of the future: they are the newest.
	const ago = sinceThen > TIME_CYCLE - FUTURE ? 0 : sinceThen;
	return (now - ago) * 1000;
}

/** Whether `text` has the form of a run id. */
export function isRunId(text: string): text is RunId {
	return PATTERN.test(text);
}
