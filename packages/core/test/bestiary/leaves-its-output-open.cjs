// Ends at SIGUSR2, and leaves a child in a session of its own that holds its output open.
const { spawn } = require("node:child_process");
const child = spawn("sleep", ["100000"], { detached: true, stdio: "inherit" });
process.once("SIGUSR2", () => {
	console.log("farewell");
	process.exit(3);
});
child.once("spawn", () => console.log("it has a child"));
