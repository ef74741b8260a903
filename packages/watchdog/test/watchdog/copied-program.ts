// What a single executable application contains: a program that uses the package. Its argument is a file that it writes
// as soon as it does anything.
import { writeFileSync } from "node:fs";
import { createPool } from "@snakepit/core";

writeFileSync(process.argv[2] ?? "", typeof createPool);
