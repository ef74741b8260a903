// node:child_process, as it is: two workers over pipes. "detached" as the one argument.
import { spawn } from "node:child_process";

const busy = new URL("./busy.py", import.meta.url).pathname;
const detached = process.argv[2] === "detached";
for (let worker = 0; worker < 2; worker++)
	spawn(process.env.CHAOS_PYTHON, [busy], { detached });
