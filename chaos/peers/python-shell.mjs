// python-shell: two workers.
import { peer } from "./peer.mjs";

const { PythonShell } = await peer("python-shell");

const busy = new URL("./busy.py", import.meta.url).pathname;
for (let worker = 0; worker < 2; worker++)
	new PythonShell(busy, { pythonPath: process.env.CHAOS_PYTHON });
