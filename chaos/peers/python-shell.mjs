// python-shell: two workers.
import { PythonShell } from "python-shell";

const busy = new URL("./busy.py", import.meta.url).pathname;
for (let worker = 0; worker < 2; worker++)
	new PythonShell(busy, { pythonPath: process.env.CHAOS_PYTHON });
