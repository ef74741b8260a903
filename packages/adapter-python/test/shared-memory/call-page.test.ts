import { spawn } from "node:child_process";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { CallPage } from "../../src/shared-memory/call-page.ts";
import { scratch } from "../support/fake-python.ts";
import { PYTHON } from "../support/pythons.ts";

/** Begins the calls 1, 2, 3 … as fast as it can until one was taken back, and says which ones ran. */
const WORKER = `
import sys, threading
from snakepit_bridge.calls.memory.call_page import CallPage
page = CallPage(sys.argv[1])
lock = threading.Lock()
print("ready", flush=True)
for number in range(1, 10**9):
    page.announce(number)
    with lock:
        may_begin = page.may_begin(number)
    if not may_begin:
        print(number, flush=True)
        break
sys.stdin.read()
`;

test("what the page shows as not begun, the worker does not begin, whenever it is taken back", async () => {
	for (let round = 0; round < 20; round++) {
		const path = join(scratch(), "calls");
		const worker = spawn(PYTHON, ["-c", WORKER, path]);
		onTestFinished(() => void worker.kill("SIGKILL"));
		const lines = createInterface(worker.stdout)[Symbol.asyncIterator]();
		expect((await lines.next()).value).toBe("ready");
		const page = CallPage.open(path) as CallPage;
		// Nothing is kept: the calls up to a number far above end here.
		const begun = page.recall(undefined, 1_000_000_000) as number;
		const refused = Number((await lines.next()).value);
		expect(refused).toBeGreaterThan(0);
		// The one at `begun` may have been refused or have run; those above have not begun.
		expect(refused - begun).toBeGreaterThanOrEqual(0);
		expect(refused - begun).toBeLessThanOrEqual(1);
		// The page outlives the worker.
		const exited = new Promise((resolve) => worker.once("exit", resolve));
		worker.kill("SIGKILL");
		await exited;
		expect(page.recall(undefined, 1_000_000_000)).toBe(refused);
		page.close();
	}
});

test("only its user may open the page, and only one worker makes it", async () => {
	const path = join(scratch(), "calls");
	const made = spawn(PYTHON, [
		"-c",
		"import sys; from snakepit_bridge.calls.memory.call_page import CallPage; CallPage(sys.argv[1])\ntry: CallPage(sys.argv[1])\nexcept FileExistsError: sys.exit(7)",
		path,
	]);
	expect(await new Promise((resolve) => made.once("exit", resolve))).toBe(7);
	expect(statSync(path).mode & 0o777).toBe(0o600);
	expect(statSync(path).size).toBe(4096);
});

test("nothing is certain without a page, for calls too far apart, or of a closed one; its name is gone at once", () => {
	const path = join(scratch(), "calls");
	expect(CallPage.open(path)).toBeUndefined();
	writeFileSync(path, "");
	const page = CallPage.open(path) as CallPage;
	expect(page.recall(1, 100)).toBeUndefined();
	expect(page.recall(undefined, 100)).toBe(0);
	// Its name is gone: nothing is left when its two users end, however they end.
	expect(existsSync(path)).toBe(false);
	page.close();
	page.close();
	expect(page.recall(1, 2)).toBeUndefined();
});

/** Keeps answers of all lengths without an end, a new round whenever the page is full. */
const KEEPER = `
import sys
from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, framed
from snakepit_bridge.calls.memory.call_page import CallPage
page = CallPage(sys.argv[1])
print("ready", flush=True)
for number in range(10**9):
    answer = framed(FRAME, number.to_bytes(4, "little") * (1 + number % 50))
    if not page.keep(answer):
        page.keep(answer)
`;

test("answers that are kept are read whole and in order, while the worker writes and after its death", async () => {
	let afterDeath = 0;
	for (let round = 0; round < 8; round++) {
		const path = join(scratch(), "calls");
		const worker = spawn(PYTHON, ["-c", KEEPER, path]);
		onTestFinished(() => void worker.kill("SIGKILL"));
		await createInterface(worker.stdout)[Symbol.asyncIterator]().next();
		const page = CallPage.open(path) as CallPage;
		let seen = 0;
		while (seen < 3_000) seen += whole(page.kept());
		const exited = new Promise((resolve) => worker.once("exit", resolve));
		worker.kill("SIGKILL");
		await exited;
		afterDeath += whole(page.kept());
		page.close();
		expect(page.kept()).toEqual([]);
	}
	// A worker that is killed as it begins a round has kept nothing.
	expect(afterDeath).toBeGreaterThan(0);
});

/** Checks what the keeper kept; returns how many answers there are. */
function whole(answers: readonly Uint8Array[]): number {
	let last: number | undefined;
	for (const answer of answers) {
		const number = Buffer.from(answer).readUInt32LE(0);
		const expected = Buffer.alloc(4 * (1 + (number % 50)));
		for (let at = 0; at < expected.length; at += 4)
			expected.writeUInt32LE(number, at);
		expect(Buffer.from(answer).equals(expected)).toBe(true);
		if (last !== undefined) expect(number).toBe(last + 1);
		last = number;
	}
	return answers.length;
}

test("of a page with lengths that do not fit, only the answers before are read", () => {
	const path = join(scratch(), "calls");
	const bytes = Buffer.alloc(4096);
	bytes.writeBigUInt64LE(65_536n + 15n, 16);
	bytes.writeUInt32BE(3, 25);
	bytes.write("one", 29);
	bytes.writeUInt32BE(3, 33);
	writeFileSync(path, bytes);
	const page = CallPage.open(path) as CallPage;
	expect(page.kept().map(String)).toEqual(["one"]);
	page.close();
	bytes.writeBigUInt64LE(65_536n + 5_000n, 16);
	writeFileSync(path, bytes);
	const larger = CallPage.open(path) as CallPage;
	expect(larger.kept()).toEqual([]);
	larger.close();
});
