// Made by `python -m snakepit_bridge types language_model.py`.

/** What each tool takes, and what it returns if it keeps to its annotations. */
export type Tools = {
  /** Continues a prompt, up to the end of a sentence. */
  complete(
    args:
      | {
          prompt: string;
          max_tokens?: number | bigint | undefined;
          seed?: number | bigint | undefined;
        }
      | readonly [
          prompt: string,
          max_tokens?: number | bigint,
          seed?: number | bigint,
        ],
  ): AsyncIterable<string, Usage>;
};

/** The tokens that were read and made, and why no more were made. */
export type Usage = {
  prompt_tokens: number | bigint;
  completion_tokens: number | bigint;
  finish: "stop" | "length";
};
