export type Shell = "bash" | "zsh" | "fish";

export const SHELLS: readonly Shell[] = ["bash", "zsh", "fish"];
