// Makes an environment, and tells what it got; or ends in the middle when it is killed.
import { pythonEnvironment } from "../../src/index.ts";

const [options = "{}"] = process.argv.slice(2);
const made = await pythonEnvironment(JSON.parse(options)).make();
process.stdout.write(`${JSON.stringify(made)}\n`);
