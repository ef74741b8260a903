// A program as they are found in the wild: it answers JSON-RPC 2.0 requests,
// one JSON object a line, on standard input and output, cancels them on
// `$/cancelRequest` and reports parts of a result as `$/progress`, as language
// servers do. It imports nothing, and knows nothing of Snakepit.
import { createInterface } from "node:readline";

/** What was asked and is not answered yet: id -> AbortController. */
const running = new Map();
let produced = 0;

const methods = {
	echo: (params) => params,
	/** How often each word occurs. */
	words: ({ text }) => {
		const counts = {};
		for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
			counts[word] = (counts[word] ?? 0) + 1;
		}
		return counts;
	},
	/** The sentences of a text, one at a time. */
	sentences: async ({ text }, { report }) => {
		for (const sentence of text.match(/[^.!?]+[.!?]*/g) ?? []) {
			await report(sentence.trim());
		}
	},
	wait: (_params, { cancelled }) => cancelled,
	silence: (_params, { cancelled }) => cancelled,
	/** Writes lines of filler until it is cancelled. */
	filler: async ({ width }, { report }) => {
		for (produced = 0; ; produced++) await report("x".repeat(width));
	},
	produced: () => produced,
	/** Ends its output, and runs on. */
	mute: () => {
		process.getBuiltinModule("node:fs").closeSync(1);
		return new Promise(() => {});
	},
	/** Ends with its answer. */
	finish: (params, { id }) => {
		process.exitCode = 0;
		process.stdout.write(
			`${JSON.stringify({ jsonrpc: "2.0", id, result: params })}\n`,
			() => process.exit(),
		);
		return new Promise(() => {});
	},
	/** Takes its time when its input ends. */
	linger: ({ ms }) => {
		process.stdin.on("end", () => setTimeout(() => {}, ms));
	},
	garble: () => process.stdout.write("this is not JSON\n"),
};

createInterface({ input: process.stdin }).on("line", async (line) => {
	const { id, method, params } = JSON.parse(line);
	if (method === "$/cancelRequest") return running.get(params.id)?.abort();
	if (!Object.hasOwn(methods, method))
		return answer({
			id,
			error: { code: -32601, message: `There is no method ${method}.` },
		});
	const abort = new AbortController();
	running.set(id, abort);
	const cancelled = new Promise((_, reject) => {
		abort.signal.addEventListener("abort", () =>
			reject(new Cancelled("The request was cancelled.")),
		);
	});
	cancelled.catch(() => {});
	const report = async (value) => {
		if (!answer({ method: "$/progress", params: { token: id, value } }))
			await new Promise((resolve) => process.stdout.once("drain", resolve));
		await new Promise((resolve) => setImmediate(resolve)); // Lets a cancellation in.
		if (abort.signal.aborted) await cancelled;
	};
	try {
		answer({
			id,
			result:
				(await methods[method](params, { id, report, cancelled })) ?? null,
		});
	} catch (error) {
		const code = error instanceof Cancelled ? -32800 : -32000;
		answer({ id, error: { code, message: error.message, data: error.stack } });
	} finally {
		running.delete(id);
	}
});

class Cancelled extends Error {}

function answer(message) {
	return process.stdout.write(
		`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`,
	);
}
