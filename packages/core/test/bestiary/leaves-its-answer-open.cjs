// Ends when it is asked something, without an answer, and leaves a child in a
// session of its own that holds its output open.
const { spawn } = require("node:child_process");
process.stdin.once("data", () => {
	spawn("sleep", ["100000"], { detached: true, stdio: "inherit" }).unref();
	process.exit(0);
});
