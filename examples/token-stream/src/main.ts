import { join } from "node:path";
import { python, pythonEnvironment } from "@snakepit/adapter-python";
import { createPool } from "@snakepit/core";
import type { Tools } from "./gen/tools.ts";

/** Has the bridge, as the one that is made here has. */
const [interpreter] = process.argv.slice(2);
const requirements = [join(import.meta.dirname, "../../../python")];
await using pool = await createPool<Tools>({
	adapter: python({
		tools: join(import.meta.dirname, "../language_model.py"),
		python: interpreter,
		environment: interpreter ? undefined : pythonEnvironment({ requirements }),
	}),
	size: 1,
	// They share one model, and each waits only for its own reader.
	callsPerWorker: 8,
});

let state = "";
const answer = pool.stream(
	"complete",
	{ prompt: "Suddenly the rabbit" },
	{
		timeoutMs: 60_000,
		onProgress: ({ fraction = 0, message }) => {
			state = `${message}: ${100 * fraction} %`;
		},
	},
);
for await (const token of answer) process.stdout.write(token);
const { prompt_tokens, completion_tokens, finish } = await answer.result;
console.log(
	`\n${prompt_tokens} tokens in, ${completion_tokens} out: ${finish}`,
);
console.log(state);

const answers = ["Alice", "The hole", "In another moment"].map(
	async (prompt) => {
		const stream = pool.stream("complete", { prompt, max_tokens: 12, seed: 2 });
		const text = (await Array.fromAsync(stream)).join("");
		return `${prompt}${text} (${(await stream.result).finish})`;
	},
);
for (const text of await Promise.all(answers)) console.log(text);

// The generator ends when its reader leaves.
const left = pool.stream("complete", { prompt: "She", max_tokens: 1_000_000 });
for await (const token of left) {
	console.log(`one token is enough:${token}`);
	break;
}
console.log(await left.result.catch(({ code }) => code));
