// The companion of a pool: its workers are connected to it, and it ends when its host does.
// The payload names a directory of the test: a file "refuses" there lets a start fail, "slow" lets it wait until that
// is gone, and with "lingers" it hangs up on its workers half a second before it ends by SIGUSR2.
const { existsSync } = require("node:fs");
const { connect, createServer, Socket } = require("node:net");
const control = new Socket({ fd: 3 });
let text = "";
control.setEncoding("utf8").on("data", (chunk) => {
	text += chunk;
	if (!text.endsWith("\n")) return;
	const { directory, lifeline, payload } = JSON.parse(text);
	const asked = (habit) => existsSync(`${payload.habits}/${habit}`);
	connect(lifeline).on("close", () => process.exit(1));
	if (asked("refuses")) {
		const failed = { code: "NO_COMPANY", message: "Nobody is at home." };
		control.write(`${JSON.stringify({ failed })}\n`, () => process.exit(70));
		return;
	}
	const workers = new Set();
	const server = createServer((worker) => {
		workers.add(worker.resume().on("error", () => {}));
	});
	process.on("SIGTERM", () => process.exit(0));
	process.on("SIGUSR2", () => {
		for (const worker of workers) worker.destroy();
		setTimeout(() => process.exit(3), asked("lingers") ? 500 : 0);
	});
	const listen = () => {
		if (asked("slow")) setTimeout(listen, 20);
		else
			server.listen(`${directory}/g`, () =>
				control.write(`${JSON.stringify({ ready: { secret: 42 } })}\n`),
			);
	};
	listen();
});
