import { expect, onTestFinished, test } from "vitest";
import { firstLine, guardOfTest, startScript } from "./bench.ts";

test.runIf(process.platform === "linux")(
	"a worker has the rights of its host when it is started, not of the moment in which the run was opened",
	async () => {
		const bench = await guardOfTest();
		const before = process.umask();
		onTestFinished(() => void process.umask(before));
		const masks: string[] = [];
		for (const mask of [0o027, 0o077, 0o027]) {
			process.umask(mask);
			const started = await startScript(bench, "umask");
			expect(started.source).toBe("guard");
			masks.push(await firstLine(started));
		}
		expect(masks).toEqual(["0027", "0077", "0027"]);
		// The one that was opened with the run, and one more for each mask.
		expect(bench.events.of("protection.started")).toHaveLength(3);
		await bench.run.close();
		expect(bench.events.of("protection.ended").map(({ how }) => how)).toEqual([
			"released",
			"released",
			"released",
		]);
	},
);
