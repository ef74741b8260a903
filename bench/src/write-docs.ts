// Makes docs/benchmarks.md and its plot from the results that are kept.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/run.ts";
import { benchmarksPage } from "./report/docs.ts";
import { keptResults } from "./report/kept-results.ts";
import { drawPlot } from "./report/plot.ts";

const results = keptResults();
const docs = join(root, "docs");
writeFileSync(join(docs, "benchmarks.md"), benchmarksPage(results));
writeFileSync(
	join(docs, "benchmarks.svg"),
	drawPlot(results.flatMap((result) => result.cases)),
);
