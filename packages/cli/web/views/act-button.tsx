import type { PoolAct } from "@snakepit/control";
import { useEffect, useRef, useState } from "preact/hooks";
import { post, type RequestError, runPath } from "../feed/requests.ts";
import { usePage } from "./page-context.ts";

type Phase = "ready" | "asking" | "acting";

/** A button that acts on a pool. It asks for confirmation if the act cannot be undone. */
export function ActButton({
	pool,
	act,
	parameters = {},
	label,
	confirm,
}: {
	readonly pool: string;
	readonly act: PoolAct;
	readonly parameters?: Readonly<Record<string, unknown>>;
	readonly label: string;
	/** The question; without one, the click acts at once. */
	readonly confirm?: string;
}) {
	const { runId, notify } = usePage();
	const [phase, setPhase] = useState<Phase>("ready");
	// The question replaces the button, so the focus would be lost.
	const button = useRef<HTMLButtonElement>(null);
	const lastPhase = useRef<Phase>(phase);
	useEffect(() => {
		const wasAsking = lastPhase.current === "asking";
		if (phase === "asking" || (wasAsking && phase === "ready"))
			button.current?.focus();
		lastPhase.current = phase;
	}, [phase]);
	const carryOut = async () => {
		setPhase("acting");
		try {
			await post(runPath(runId, "pools", pool, act), parameters);
			notify(`${label}: done.`, "good");
		} catch (error) {
			const { message } = error as RequestError;
			notify(`${label}: ${message}`, "bad");
		}
		setPhase("ready");
	};
	if (phase === "asking")
		return (
			<span class="question">
				{confirm}{" "}
				<button type="button" class="danger" onClick={() => void carryOut()}>
					{label}
				</button>{" "}
				<button ref={button} type="button" onClick={() => setPhase("ready")}>
					Cancel
				</button>
			</span>
		);
	return (
		<button
			ref={button}
			type="button"
			disabled={phase === "acting"}
			onClick={() =>
				confirm === undefined ? void carryOut() : setPhase("asking")
			}
		>
			{phase === "acting" ? `${label}…` : label}
		</button>
	);
}
