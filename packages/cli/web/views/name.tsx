import { useEffect, useReducer, useState } from "preact/hooks";
import { plainText, whole } from "../../src/wording/figures.ts";

/** Shorter names fit everywhere. */
const SHORT_CHARACTERS = 24;
/** So many at the end are always seen: names that begin alike differ there. */
const END_CHARACTERS = 8;
const MOST_CHARACTERS = 400;

/**
 * A name that may be long. Where there is no room it is cut in the middle, and `NameTip` shows the whole of it at the
 * pointer and at the focus.
 *
 * @param focus `"own"` for a name that is not part of a link or a button.
 */
export function Name({
	text,
	focus = "own",
}: {
	readonly text: string;
	readonly focus?: "own" | "parent";
}) {
	const missing = text.length - MOST_CHARACTERS;
	const start = plainText(text.slice(0, MOST_CHARACTERS));
	const name =
		missing > 0 ? `${start} … (${whole(missing)} more characters)` : start;
	if (name.length <= SHORT_CHARACTERS) return <>{name}</>;
	return (
		<span
			class="name"
			data-full={name}
			tabIndex={focus === "own" ? 0 : undefined}
		>
			<span class="name-start">{name.slice(0, -END_CHARACTERS)}</span>
			<span class="name-end">{name.slice(-END_CHARACTERS)}</span>
		</span>
	);
}

/** A name in a place that can only have text, cut in the middle. */
export function shortName(text: string, characters: number): string {
	const name = plainText(text);
	if (name.length <= characters) return name;
	const end = Math.floor(characters / 3);
	return `${name.slice(0, characters - end - 1)}…${name.slice(-end)}`;
}

/** The name at a target, if some of it is cut. @param within also looks into the target. */
function cutName(
	target: EventTarget | null,
	within: boolean,
): HTMLElement | undefined {
	if (!(target instanceof Element)) return undefined;
	const name =
		target.closest(".name") ?? (within ? target.querySelector(".name") : null);
	const start = name?.querySelector(".name-start");
	return name instanceof HTMLElement &&
		start instanceof HTMLElement &&
		start.scrollWidth > start.clientWidth
		? name
		: undefined;
}

/** Shows the whole of a name that is cut, while the pointer or the focus is there. */
export function NameTip() {
	const [pointed, setPointed] = useState<HTMLElement>();
	const [focused, setFocused] = useState<HTMLElement>();
	const name = pointed ?? focused;
	// Its place is another when something has scrolled.
	const [, moved] = useReducer((moves: number) => moves + 1, 0);
	useEffect(() => {
		const point = ({ target }: Event) => setPointed(cutName(target, false));
		const focus = ({ target }: Event) => setFocused(cutName(target, true));
		const hide = () => setFocused(undefined);
		const hideByKey = ({ key }: KeyboardEvent) => {
			if (key !== "Escape") return;
			setPointed(undefined);
			setFocused(undefined);
		};
		const move = () => moved(undefined);
		addEventListener("pointerover", point);
		addEventListener("focusin", focus);
		addEventListener("focusout", hide);
		addEventListener("keydown", hideByKey);
		addEventListener("scroll", move, true);
		return () => {
			removeEventListener("pointerover", point);
			removeEventListener("focusin", focus);
			removeEventListener("focusout", hide);
			removeEventListener("keydown", hideByKey);
			removeEventListener("scroll", move, true);
		};
	}, []);
	if (name === undefined || !name.isConnected) return null;
	const { left, bottom } = name.getBoundingClientRect();
	return (
		<div
			class="name-tip"
			role="tooltip"
			style={{ "--left": `${left}px`, top: `${bottom + 4}px` }}
		>
			{name.dataset["full"]}
		</div>
	);
}
