import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	formatMarker,
	type Marker,
	markerOf,
	parseMarker,
	type RunId,
} from "../../src/contract/identity.ts";

const id = fc.stringMatching(/^[0-9a-z]{7}$/) as fc.Arbitrary<RunId>;
/** Machine texts as systems write them: no colon, not empty. */
const systemText = fc.stringMatching(/^[0-9A-Za-z._-]{1,40}$/);
const marker: fc.Arbitrary<Marker> = fc.record({
	runId: id,
	directoryKey: systemText,
	bootId: systemText,
	pidNamespace: systemText,
	hostPid: fc.integer({ min: 1, max: 4_194_304 }),
	// `ps` prints "Mon Jan  1 00:00:00 2026": colons and spaces.
	hostStartTime: fc.oneof(
		fc.constant("Mon Jan  1 00:00:00 2026"),
		fc.string({ minLength: 1, unit: "grapheme" }),
	),
});

describe("the marker", () => {
	test("is read back as it was written", () => {
		fc.assert(
			fc.property(marker, (written) => {
				expect(parseMarker(formatMarker(written))).toEqual(written);
			}),
		);
	});

	test("is one line of six fields that can stand in an environment", () => {
		fc.assert(
			fc.property(marker, (written) => {
				const text = formatMarker(written);
				expect(text).not.toContain("\0");
				expect(text.split(":")).toHaveLength(6);
			}),
		);
	});

	test("names the run, the host process and the data directory", () => {
		const host = {
			machineId: "m",
			bootId: "b",
			pidNamespace: "n",
			pid: 7,
			startTime: "1:2",
		};
		const text = formatMarker(markerOf("k3x9a2p" as RunId, host, "d"));
		expect(text).toBe("k3x9a2p:d:b:n:7:1%3A2");
		expect(parseMarker(text)).toEqual({
			runId: "k3x9a2p",
			directoryKey: "d",
			bootId: "b",
			pidNamespace: "n",
			hostPid: 7,
			hostStartTime: "1:2",
		});
	});

	test.each([
		"",
		"k3x9a2p",
		"k3x9a2p:d:b:n:7",
		"k3x9a2p:d:b:n:7:1:2",
		":d:b:n:7:1",
		"k3x9a2p:b:n:7:1",
		"k3x9a2p::b:n:7:1",
		"k3x9a2p:d::n:7:1",
		"k3x9a2p:d:b::7:1",
		"k3x9a2p:d:b:n::1",
		"k3x9a2p:d:b:n:7:",
		"K3X9A2P:d:b:n:7:1",
		"k3x9a2:d:b:n:7:1",
		"k3x9a2p:d:b:n:0:1",
		"k3x9a2p:d:b:n:-7:1",
		"k3x9a2p:d:b:n:07:1",
		"k3x9a2p:d:b:n:7.5:1",
		"k3x9a2p:d:b:n:1e3:1",
		"k3x9a2p:d:b:n:12345678901:1",
		"k3x9a2p:d:b:n:7:%E0%A4%A",
		" k3x9a2p:d:b:n:7:1",
	])("%j is not one", (text) => {
		expect(parseMarker(text)).toBeUndefined();
	});

	test("reading never throws, and what it accepts is well-formed", () => {
		fc.assert(
			fc.property(
				fc.oneof(
					fc.string({ unit: "binary" }),
					fc.array(fc.string()).map((fields) => fields.join(":")),
				),
				(text) => {
					const read = parseMarker(text);
					if (read === undefined) return;
					expect(read.runId).toMatch(/^[0-9a-z]{7}$/);
					expect(Number.isSafeInteger(read.hostPid) && read.hostPid > 0).toBe(
						true,
					);
				},
			),
		);
	});
});
