import { PassThrough } from "node:stream";
import type { FakeProcess } from "./fake-process.ts";

/** Standard output and error, ended when the last process that holds them is gone. */
export class FakeOutput {
	readonly stdout: PassThrough = new PassThrough();
	readonly stderr: PassThrough = new PassThrough();
	readonly holders: Set<FakeProcess> = new Set();

	release(holder: FakeProcess): void {
		if (!this.holders.delete(holder) || this.holders.size > 0) return;
		this.stdout.end();
		this.stderr.end();
	}
}
