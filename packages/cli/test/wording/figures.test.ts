import { expect, test } from "vitest";
import { bytes, duration, rate } from "../../src/wording/figures.ts";

test.each([
	[-3_600_000, "0 ms"],
	[0, "0 ms"],
	[0.123, "0.12 ms"],
	[1.234, "1.2 ms"],
	[999.4, "999 ms"],
	[59_949, "59.9 s"],
	[60_000, "1 min 0 s"],
	[3_600_000, "1 h 0 min"],
	[90_000_000, "1 d 1 h"],
])("%s ms is %s", (ms, text) => {
	expect(duration(ms)).toBe(text);
});

test.each([
	[999, "999 B"],
	[20_480, "20 kB"],
	[1_500_000, "1.5 MB"],
	[150_000_000, "150 MB"],
	[2_340_000_000, "2.34 GB"],
])("%s bytes are %s", (count, text) => {
	expect(bytes(count)).toBe(text);
});

test.each([
	[0, "0"],
	[0.25, "0.3"],
	[12_345.6, "12,346"],
])("%s a second is %s", (perSecond, text) => {
	expect(rate(perSecond)).toBe(text);
});
