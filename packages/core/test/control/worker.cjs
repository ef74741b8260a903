// Answers each line of its input: {"id", "command", "args"} with {"id", "result"} or {"id", "error"}.
const { createInterface } = require("node:readline");

const answer = (id, fields) =>
	process.stdout.write(`${JSON.stringify({ id, ...fields })}\n`);

const commands = {
	echo: (id, args) => answer(id, { result: args }),
	sleep: (id, ms) => setTimeout(() => answer(id, { result: ms }), ms),
	fail: (id) => answer(id, { error: "it was asked to" }),
	/** Prints lines, as fast as it can. */
	print: (id, lines) => {
		for (let line = 0; line < lines; line++)
			process.stderr.write(`line ${line}\n`);
		answer(id, { result: lines });
	},
};

createInterface({ input: process.stdin })
	.on("line", (line) => {
		const { id, command, args } = JSON.parse(line);
		commands[command](id, args);
	})
	.on("close", () => process.exit(0));
