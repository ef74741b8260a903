// Starts a child in a session of its own, with its environment, and ends.
const { spawn } = require("node:child_process");
const child = spawn("sleep", ["100000"], { detached: true, stdio: "ignore" });
child.once("spawn", () => {
	console.log("up");
	process.exit();
});
