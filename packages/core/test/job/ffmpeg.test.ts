import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { lives, realRun } from "./real-run.ts";

const isHere = spawnSync("ffmpeg", ["-version"]).status === 0;
const FFMPEG = ["ffmpeg", "-hide_banner", "-nostdin"];
const tone = (seconds: number): readonly string[] => [
	...["-f", "lavfi", "-i", `sine=frequency=440:duration=${seconds}`],
];

describe.runIf(isHere)(`ffmpeg${isHere ? "" : " (not installed here)"}`, () => {
	test("converts what it reads, piece by piece", async () => {
		const { run } = await realRun();
		const wav = await run
			.job([...FFMPEG, ...tone(2), "-f", "wav", "pipe:1"])
			.bytes();
		expect(Buffer.from(wav.subarray(0, 4)).toString()).toBe("RIFF");
		function* pieces(): Generator<Uint8Array> {
			for (let from = 0; from < wav.length; from += 10_000)
				yield wav.subarray(from, from + 10_000);
		}
		const command = [...FFMPEG, "-i", "pipe:0", "-f", "s16le", "pipe:1"];
		const raw = await run.job(command, { input: pieces() }).bytes();
		// Two seconds of 44,100 samples with two bytes each.
		expect(raw).toHaveLength(2 * 44_100 * 2);
	});

	test("says what is wrong with its input in its last lines", async () => {
		const { run } = await realRun();
		const command = [...FFMPEG, "-i", "pipe:0", "-f", "wav", "pipe:1"];
		await expect(
			run.job(command, { input: "no sound" }).bytes(),
		).rejects.toMatchObject({
			code: "JOB_FAILED",
			message: expect.stringContaining("Invalid data found"),
		});
	});

	test("is ended in the middle of its work when its reader stops reading", async () => {
		const { run } = await realRun();
		const job = run.job([
			...[...FFMPEG, "-re", ...tone(1_000), "-f", "wav", "pipe:1"],
		]);
		for await (const chunk of job) {
			expect(chunk.length).toBeGreaterThan(0);
			break;
		}
		expect(lives(job.pid ?? 0)).toBe(false);
	});
});
