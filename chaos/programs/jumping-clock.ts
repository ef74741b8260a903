// Preloaded into a host: its wall clock jumps when it gets SIGUSR2, by CHAOS_JUMP_MS.
// The clock of the machine is shared, so it is left alone.
const now = Date.now;
let jumpMs = 0;
Date.now = () => now() + jumpMs;
process.on("SIGUSR2", () => {
	jumpMs += Number(process.env["CHAOS_JUMP_MS"]);
	console.log(JSON.stringify({ jumped: jumpMs }));
});
