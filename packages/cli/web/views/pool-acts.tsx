import type { PoolSnapshot } from "@snakepit/control";
import { useState } from "preact/hooks";
import { ActButton } from "./act-button.tsx";

/** The acts on a whole pool. */
export function PoolActs({ pool }: { readonly pool: PoolSnapshot }) {
	const [size, setSize] = useState<{ min: number; max: number }>();
	const { min, max } = size ?? pool.size;
	const name = pool.pool;
	return (
		<details class="pool-acts">
			<summary>Actions</summary>
			<div>
				{pool.phase === "paused" ? (
					<ActButton pool={name} act="resume" label="Resume" />
				) : (
					<ActButton pool={name} act="pause" label="Pause" />
				)}
				<ActButton
					pool={name}
					act="recycle"
					label="Recycle all"
					parameters={{ worker: "all" }}
				/>
				<span class="resize">
					<label>
						min{" "}
						<input
							type="number"
							min={0}
							value={min}
							onInput={({ currentTarget }) =>
								setSize({ min: currentTarget.valueAsNumber, max })
							}
						/>
					</label>
					<label>
						max{" "}
						<input
							type="number"
							min={1}
							value={max}
							onInput={({ currentTarget }) =>
								setSize({ min, max: currentTarget.valueAsNumber })
							}
						/>
					</label>
					<ActButton
						pool={name}
						act="resize"
						label="Resize"
						parameters={{ min, max }}
					/>
				</span>
				<ActButton
					pool={name}
					act="drain"
					label="Drain"
					confirm="Close the pool when its calls have ended?"
				/>
				<ActButton
					pool={name}
					act="kill"
					label="Kill"
					confirm="Close the pool at once, and lose its calls?"
				/>
			</div>
		</details>
	);
}
