/** `system`: the theme of the viewer's system. */
export type Theme = "system" | "light" | "dark";

export const THEMES: readonly Theme[] = ["system", "light", "dark"];
const KEY = "snakepit-theme";

export function storedTheme(): Theme {
	const stored = localStorage.getItem(KEY);
	return THEMES.find((theme) => theme === stored) ?? "system";
}

export function applyTheme(theme: Theme): void {
	localStorage.setItem(KEY, theme);
	if (theme === "system") delete document.documentElement.dataset["theme"];
	else document.documentElement.dataset["theme"] = theme;
}
