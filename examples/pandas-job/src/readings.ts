import {
	makeVector,
	Table,
	TimestampMillisecond,
	vectorFromArray,
} from "apache-arrow";

const STATIONS = ["harbour", "hill", "old town"];
const MINUTE = 60_000;
const WEEK = 7 * 24 * 60;

/** A table of one week: a reading each minute of each station. Every hundredth is missing. */
export function readingsOf(week: number): Table {
	const rows = WEEK * STATIONS.length;
	const at = new BigInt64Array(rows);
	const station: string[] = [];
	const celsius: (number | null)[] = [];
	for (let row = 0; row < rows; row++) {
		const index = row % STATIONS.length;
		const minute = week * WEEK + Math.floor(row / STATIONS.length);
		at[row] = BigInt(Date.UTC(2026, 2, 2) + minute * MINUTE);
		station.push(STATIONS[index] ?? "");
		celsius.push(row % 100 === 99 ? null : temperature(minute, index));
	}
	return new Table({
		at: makeVector({ type: new TimestampMillisecond(), data: at }),
		// As a dictionary: in pandas it is a categorical.
		station: vectorFromArray(station),
		celsius: vectorFromArray(celsius),
	});
}

/** Warm at 15:00, and warmer each week. */
function temperature(minute: number, station: number): number {
	const hour = minute / 60;
	const ofDay = Math.cos(((hour - 15) / 24) * 2 * Math.PI);
	return 8 + 6 * ofDay + hour / 100 - 2 * station;
}
