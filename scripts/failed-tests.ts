/** A file of vitest's JSON report. */
export interface TestedFile {
	/** The file's path. */
	readonly name: string;
	readonly status: string;
	readonly message: string;
	readonly assertionResults: readonly {
		readonly fullName: string;
		readonly status: string;
		readonly failureMessages: readonly string[];
	}[];
}

/** What failed in a run of vitest, a line each: the last thing to read of an output that is cut from its beginning. */
export function failedTests(files: readonly TestedFile[]): readonly string[] {
	return files.flatMap((file) => {
		const failed = file.assertionResults
			.filter(({ status }) => status === "failed")
			.map(({ fullName, failureMessages }) =>
				line(`${file.name} > ${fullName}`, failureMessages[0]),
			);
		const unloaded =
			file.status === "failed" && file.assertionResults.length === 0;
		return unloaded ? [line(file.name, file.message)] : failed;
	});
}

/** The same of a run of pytest, from its report in the format of JUnit. */
export function failedPythonTests(report: string): readonly string[] {
	const failures =
		/<testcase classname="([^"]*)" name="([^"]*)"[^>]*><(?:failure|error) message="([^"]*)"/g;
	return [...report.matchAll(failures)].map(([, module, name, message]) =>
		line(`${module} > ${name}`, message?.replaceAll("&#10;", "\n")),
	);
}

function line(name: string, message = ""): string {
	const first = message.split("\n", 1)[0] ?? "";
	return `failed: ${name}${first && `: ${first.slice(0, 300)}`}`;
}
