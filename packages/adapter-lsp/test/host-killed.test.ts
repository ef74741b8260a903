import { join } from "node:path";
import { expect, test } from "vitest";
import { markedHost } from "../../../scripts/marked-host.ts";
import { dataDirectory } from "../../../scripts/test-data-directory.ts";

test.runIf(process.platform === "linux")(
	"a server and the processes that it has started are gone when their host is killed",
	async () => {
		await using host = await markedHost(
			join(import.meta.dirname, "programs/host.ts"),
			[dataDirectory()],
		);
		// typescript-language-server; tsserver for syntax, and for the rest; what installs typings.
		expect(host.living().length).toBeGreaterThanOrEqual(3);
		expect(await host.kill(10_000)).toEqual([]);
	},
);
