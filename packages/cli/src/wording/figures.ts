import { plainText } from "@snakepit/core/text";

/**
 * A duration for people: two units at most. Never below zero: the time between two moments of the clock on the wall is,
 * if somebody has set it back.
 */
export function duration(ms: number): string {
	if (!(ms > 0)) return "0 ms";
	if (ms < 1) return `${ms.toFixed(2)} ms`;
	if (ms < 10) return `${ms.toFixed(1)} ms`;
	if (ms < 1_000) return `${Math.round(ms)} ms`;
	if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
	const seconds = Math.floor(ms / 1_000);
	const minutes = Math.floor(seconds / 60);
	if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
	const hours = Math.floor(minutes / 60);
	if (hours < 24) return `${hours} h ${minutes % 60} min`;
	return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Bytes for people, in units of 1,000. */
export function bytes(count: number): string {
	if (count < 1_000) return `${count} B`;
	if (count < 1e6) return `${(count / 1e3).toFixed(0)} kB`;
	if (count < 1e9) return `${(count / 1e6).toFixed(count < 1e7 ? 1 : 0)} MB`;
	return `${(count / 1e9).toFixed(2)} GB`;
}

/** A whole number with separators. */
export function whole(count: number): string {
	// Intl would have to be loaded for it: 20 ms of a command that takes 200 ms.
	return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A rate; small rates have a decimal. */
export function rate(perSecond: number): string {
	return perSecond > 0 && perSecond < 10
		? perSecond.toFixed(1)
		: whole(perSecond);
}

/** "1 call", "2 calls". */
export function counted(
	count: number,
	noun: string,
	plural: string = `${noun}s`,
): string {
	return `${whole(count)} ${count === 1 ? noun : plural}`;
}

/** Processors in use, as a percentage of one. */
export function processors(used: number): string {
	return `${Math.round(used * 100)} %`;
}

/** Hours, minutes and seconds in the viewer's time zone. */
export function timeOfDay(wallMs: number): string {
	const date = new Date(wallMs);
	const parts = [date.getHours(), date.getMinutes(), date.getSeconds()];
	return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/** The day and the time, for events that may be long ago. */
export function dayAndTime(wallMs: number): string {
	const date = new Date(wallMs);
	const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
	const day = parts.map((part) => String(part).padStart(2, "0")).join("-");
	return `${day} ${timeOfDay(wallMs)}`;
}

/** A worker, and the machine that it runs on, if that is another one. Machines may have the same name. */
export function placed(
	workerId: string,
	location:
		| { readonly name: string; readonly address: string }
		| null
		| undefined,
): string {
	return location
		? `${workerId} on ${location.name} (${location.address})`
		: workerId;
}

export { plainText };

/** The start of such a text, with the number of missing characters. */
export function plainStart(text: string, characters: number): string {
	const start = plainText(text.slice(0, characters));
	const missing = text.length - characters;
	return missing > 0 ? `${start} … (${whole(missing)} more characters)` : start;
}

/** A value of a closed set, as text for people. */
export function words(value: unknown): string {
	return String(value).replaceAll("_", " ");
}
