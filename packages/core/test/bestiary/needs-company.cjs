// A worker that is connected to the companion of its pool, and ends with status 70 when that hangs up.
require("node:net")
	.connect(process.argv[2])
	.on("connect", () => console.log("up"))
	.on("error", () => {})
	.on("close", () => process.exit(70));
process.on("SIGTERM", () => process.exit(0));
