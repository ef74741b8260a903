import { counted } from "../../src/wording/figures.ts";
import { fragmentOf } from "../model/addresses.ts";
import type { PageFinding, PageVerdict } from "../model/page-state.ts";

/** What the page says first: that all is well, or everything that is not, each with what to do, until it is over. */
export function Banner({
	verdict,
	isStale,
}: {
	readonly verdict: PageVerdict;
	/** Below is the last known state. */
	readonly isStale: boolean;
}) {
	const { level, text, findings } = verdict;
	const troubles = findings.filter((each) => each.level === "trouble").length;
	const notes = findings.length - troubles;
	return (
		<div class="verdict" data-level={level}>
			<p class="hidden" role="status">
				{spoken(verdict)}
			</p>
			{findings.length === 0 ? (
				<p>{text}</p>
			) : (
				<>
					{findings.length > 1 && (
						<p>
							{[
								troubles > 0 ? [counted(troubles, "trouble")] : [],
								notes > 0 ? [counted(notes, "note")] : [],
							]
								.flat()
								.join(", ")}
						</p>
					)}
					<ul aria-label="What is wrong">
						{findings.map((finding) => (
							<FindingItem key={keyOf(finding)} finding={finding} />
						))}
					</ul>
				</>
			)}
			{isStale && <small>Below is the last known state.</small>}
		</div>
	);
}

function FindingItem({ finding }: { readonly finding: PageFinding }) {
	const { level, text, remedy, kind, pool, workerId } = finding;
	const isOfPool = pool !== null && text.startsWith(`${pool}: `);
	return (
		<li data-level={level} data-kind={kind}>
			{isOfPool && <strong>{pool}: </strong>}
			{isOfPool ? text.slice(pool.length + 2) : text}
			{workerId !== null && pool !== null && (
				<>
					{" "}
					<a href={fragmentOf("workers", { stacks: workerId, pool })}>
						Where it is
					</a>
				</>
			)}
			{kind === "crash_loop" && (
				<>
					{" "}
					<a href={fragmentOf("incidents")}>How its workers ended</a>
				</>
			)}
			{remedy !== null && <p>{remedy}</p>}
		</li>
	);
}

function keyOf({ kind, pool, workerId }: PageFinding): string {
	return JSON.stringify([kind, pool, workerId]);
}

/** Without figures: they change twice a second, and each change would be read out. */
function spoken({ level, text, findings }: PageVerdict): string {
	if (findings.length === 0)
		return level === "fine" ? "All is well." : text.replace(/[\d.]+ m?s/g, "");
	return findings
		.map(({ words, pool, workerId }) =>
			[pool, workerId, words].filter((part) => part !== null).join(", "),
		)
		.join("; ");
}
