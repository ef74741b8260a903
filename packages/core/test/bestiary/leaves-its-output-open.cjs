// Ends, and leaves a child in a session of its own that holds its output open.
const { spawn } = require("node:child_process");
const child = spawn("sleep", ["100000"], { detached: true, stdio: "inherit" });
child.once("spawn", () => {
	console.log("farewell");
	process.exit(3);
});
