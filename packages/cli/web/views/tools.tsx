import type { RunSnapshot, ToolSnapshot } from "@snakepit/control";
import { useEffect, useState } from "preact/hooks";
import { plainStart } from "../../src/wording/plain-text.ts";
import { get, type RequestError, runPath } from "../feed/requests.ts";
import { fragmentOf } from "../model/route.ts";
import { ToolForm } from "./tool-form.tsx";

type Tools =
	| { readonly kind: "asking" }
	| { readonly kind: "unknown"; readonly message: string }
	| { readonly kind: "known"; readonly tools: readonly ToolSnapshot[] };

/** The commands of a pool's workers. */
export function ToolsView({
	run,
	query,
}: {
	readonly run: RunSnapshot | undefined;
	readonly query: Readonly<Record<string, string>>;
}) {
	const names = run?.pools.map(({ pool }) => pool) ?? [];
	const pool = names.find((name) => name === query["pool"]) ?? names[0];
	const tools = useTools(run?.runId, pool);
	if (pool === undefined) return <p class="empty">No pool is open.</p>;
	const chosen =
		tools.kind === "known"
			? tools.tools.find(({ name }) => name === query["tool"])
			: undefined;
	return (
		<>
			{names.length > 1 && (
				<label>
					Pool{" "}
					<select
						value={pool}
						onChange={({ currentTarget }) => {
							location.hash = fragmentOf("tools", {
								pool: currentTarget.value,
							});
						}}
					>
						{names.map((name) => (
							<option key={name}>{name}</option>
						))}
					</select>
				</label>
			)}
			{tools.kind === "asking" && <p class="empty">Asking the workers…</p>}
			{tools.kind === "unknown" && <p class="empty">{tools.message}</p>}
			{tools.kind === "known" && (
				<div class="tools">
					<ul aria-label="Tools">
						{tools.tools.map((tool) => (
							<li key={tool.name}>
								<a
									href={fragmentOf("tools", { pool, tool: tool.name })}
									aria-current={tool === chosen ? "true" : undefined}
								>
									{plainStart(tool.name, 200)}
								</a>{" "}
								<small>{plainStart(firstLine(tool.description), 200)}</small>
							</li>
						))}
					</ul>
					{chosen && <ToolForm key={chosen.name} pool={pool} tool={chosen} />}
				</div>
			)}
		</>
	);
}

function useTools(runId: string | undefined, pool: string | undefined): Tools {
	const [tools, setTools] = useState<Tools>({ kind: "asking" });
	useEffect(() => {
		if (runId === undefined || pool === undefined) return;
		let isWanted = true;
		setTools({ kind: "asking" });
		get<{ tools: readonly ToolSnapshot[] | null }>(
			runPath(runId, "pools", pool, "tools"),
		).then(
			({ tools }) => {
				if (!isWanted) return;
				const message =
					"The adapter of this pool cannot say what its workers offer.";
				setTools(
					tools === null
						? { kind: "unknown", message }
						: { kind: "known", tools },
				);
			},
			({ message }: RequestError) => {
				if (isWanted) setTools({ kind: "unknown", message });
			},
		);
		return () => {
			isWanted = false;
		};
	}, [runId, pool]);
	return tools;
}

function firstLine(text: string | undefined): string {
	return text?.trim().split("\n", 1)[0] ?? "";
}
