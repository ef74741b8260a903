// Answers each line of its input: {"id", "command", "args"} with {"id", "result"}.
// Knows nothing of Snakepit, and takes its time to end: it ends its output first.
const { closeSync, writeFileSync } = require("node:fs");
const { createInterface } = require("node:readline");

const answer = (id, result) =>
	process.stdout.write(`${JSON.stringify({ id, result })}\n`);

/** Ends its output, and 0.5 s later, when it has saved something, itself. */
function saveAndEnd(path) {
	closeSync(1);
	setTimeout(() => {
		writeFileSync(path, "saved");
		process.exit(0);
	}, 500);
}

const commands = {
	echo: (id, args) => answer(id, args),
	/** Ends while it is asked. */
	endAfterSaving: (_id, path) => saveAndEnd(path),
	/** Ends its output, and lives on. */
	endOutput: () => closeSync(1),
};

const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
	const { id, command, args } = JSON.parse(line);
	commands[command](id, args);
});
input.on("close", () => {
	const path = process.argv[2];
	if (path === undefined) process.exit(0);
	saveAndEnd(path);
});
setInterval(() => {}, 1e9);
