import type { RunSnapshot, ToolSnapshot } from "@snakepit/control";
import { useEffect, useMemo, useState } from "preact/hooks";
import { duration, plainStart } from "../../src/wording/figures.ts";
import { get, post, type RequestError, runPath } from "../feed/requests.ts";
import { fragmentOf } from "../model/addresses.ts";
import {
	type FormField,
	formArgs,
	formFields,
	toolKind,
} from "../model/schema-form.ts";
import { usePage } from "./page-context.ts";

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

const RESULT_CHARACTERS = 20_000;

type Outcome =
	| { readonly kind: "none" }
	| { readonly kind: "running"; readonly abort: AbortController }
	| { readonly kind: "value"; readonly text: string; readonly tookMs: number }
	| { readonly kind: "error"; readonly error: RequestError };

/** A form for the arguments of one tool, and what a call of it returns. */
function ToolForm({
	pool,
	tool,
}: {
	readonly pool: string;
	readonly tool: ToolSnapshot;
}) {
	const { runId, can } = usePage();
	const kind = toolKind(tool);
	const fields = useMemo(() => formFields(tool.argumentsSchema), [tool]);
	const [values, setValues] = useState<Readonly<Record<string, string>>>({});
	const [wrong, setWrong] = useState<Readonly<Record<string, string>>>({});
	const [outcome, setOutcome] = useState<Outcome>({ kind: "none" });
	const call = async (args: Readonly<Record<string, unknown>>) => {
		const abort = new AbortController();
		setOutcome({ kind: "running", abort });
		const start = performance.now();
		try {
			const { value } = await post<{ value: unknown }>(
				runPath(runId, "pools", pool, "call"),
				{ command: tool.name, args },
				abort.signal,
			);
			const text = JSON.stringify(value, undefined, 2);
			setOutcome({ kind: "value", text, tookMs: performance.now() - start });
		} catch (error) {
			setOutcome(
				abort.signal.aborted
					? { kind: "none" }
					: { kind: "error", error: error as RequestError },
			);
		}
	};
	const submitted = (event: Event) => {
		event.preventDefault();
		const result = formArgs(fields, values);
		setWrong(result.kind === "wrong" ? result.wrong : {});
		if (result.kind === "args") void call(result.args);
	};
	return (
		<section class="tool" aria-label={tool.name}>
			<h2>{plainStart(tool.name, 200)}</h2>
			{tool.description && <p>{plainStart(tool.description, 2_000)}</p>}
			{kind !== undefined && (
				<p>
					<small>{kind}</small>
				</p>
			)}
			<form onSubmit={submitted} noValidate>
				{fields.map((field) => (
					<Field
						key={field.name}
						field={field}
						value={values[field.name] ?? field.initial}
						problem={wrong[field.name]}
						set={(value) => setValues({ ...values, [field.name]: value })}
					/>
				))}
				{outcome.kind === "running" ? (
					<button type="button" onClick={() => outcome.abort.abort()}>
						Abort
					</button>
				) : (
					<button type="submit" class="primary" disabled={!can("call")}>
						Call
					</button>
				)}
				{!can("call") && (
					<p>
						<small>
							The program does not allow calls: open its run with the scope{" "}
							<code>"call"</code>.
						</small>
					</p>
				)}
			</form>
			<div aria-live="polite">
				{outcome.kind === "value" && (
					<>
						<p>
							<small>took {duration(outcome.tookMs)}, seen from here</small>
						</p>
						<pre class="result">
							{plainStart(outcome.text, RESULT_CHARACTERS)}
						</pre>
					</>
				)}
				{outcome.kind === "error" && (
					<>
						<pre class="error">
							{outcome.error.code}:{" "}
							{plainStart(outcome.error.message, RESULT_CHARACTERS)}
						</pre>
						{outcome.error.traceback && (
							<pre>
								{plainStart(outcome.error.traceback, RESULT_CHARACTERS)}
							</pre>
						)}
					</>
				)}
			</div>
		</section>
	);
}

function Field({
	field: { name, label, description, required, input },
	value,
	problem,
	set,
}: {
	readonly field: FormField;
	readonly value: string;
	readonly problem: string | undefined;
	readonly set: (value: string) => void;
}) {
	const id = `field-${name}`;
	const note = `${id}-note`;
	const shared = {
		...{ id, name, value, required },
		"aria-invalid": problem !== undefined,
		"aria-describedby": note,
	};
	const changed = (event: { currentTarget: { value: string } }) =>
		set(event.currentTarget.value);
	return (
		<div class="field">
			<label for={id}>
				{label}
				{required && <span aria-hidden="true"> *</span>}
			</label>
			{input.kind === "truth" ? (
				<input
					id={id}
					type="checkbox"
					checked={value === "true"}
					aria-describedby={note}
					onChange={({ currentTarget }) => set(String(currentTarget.checked))}
				/>
			) : input.kind === "choice" ? (
				<select {...shared} onChange={changed}>
					<option value="">–</option>
					{input.choices.map((choice) => (
						<option key={String(choice)} value={JSON.stringify(choice)}>
							{String(choice)}
						</option>
					))}
				</select>
			) : input.kind === "json" ? (
				<textarea {...shared} rows={2} placeholder="JSON" onInput={changed} />
			) : (
				<input
					{...shared}
					inputMode={input.kind === "number" ? "decimal" : "text"}
					onInput={changed}
				/>
			)}
			<small id={note}>
				{problem !== undefined && <strong class="problem">{problem}. </strong>}
				{description}
			</small>
		</div>
	);
}
