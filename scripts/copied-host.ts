import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Forks when it is loaded, as native code in a program may. The copy does nothing, and holds all that the program had open. */
const SOURCE = `
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void fork_without_exec(void)
{
	char text[20];
	pid_t copy = fork();
	if (copy == 0) {
		alarm(600); /* Whatever becomes of its test. */
		for (;;)
			pause();
	}
	snprintf(text, sizeof text, "%d", (int)copy);
	setenv("SNAKEPIT_TEST_COPY", text, 1);
}
`;

/** Makes the library that {@link copyThisProcess} loads; `undefined` where there is no compiler. */
export function copyingLibrary(directory: string): string | undefined {
	const source = join(directory, "copies.c");
	const library = join(directory, "copies.so");
	writeFileSync(source, SOURCE);
	const { status } = spawnSync(
		process.env["CC"] ?? "cc",
		["-shared", "-fPIC", "-o", library, source],
		{ stdio: "ignore" },
	);
	return status === 0 ? library : undefined;
}

/** Forks this process without an exec; returns the pid of the copy, which ends when it is killed. */
export function copyThisProcess(library: string): number {
	try {
		process.dlopen({ exports: {} }, library);
	} catch {
		// It is no module of Node.
	}
	const pid = Number(process.env["SNAKEPIT_TEST_COPY"]);
	delete process.env["SNAKEPIT_TEST_COPY"];
	return pid;
}
