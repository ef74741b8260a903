"""A language model of a page of text: the same tokens on every machine, and no download."""

import asyncio
import random
import re
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from snakepit_bridge import Result, progress, tool, toolset


@dataclass(frozen=True)
class Usage:
    """The tokens that were read and made, and why no more were made."""

    prompt_tokens: int
    completion_tokens: int
    finish: Literal["stop", "length"]


@toolset
class LanguageModel:
    def __init__(self) -> None:
        """Learns which token follows which. Runs once in each worker."""
        text = Path(__file__).with_name("corpus.txt").read_text("utf-8")
        self.following: dict[str, list[str]] = defaultdict(list)
        tokens = split(text)
        for token, next_token in pairwise(tokens):
            self.following[token.lower()].append(next_token)

    @tool
    async def complete(
        self, prompt: str, max_tokens: int = 60, seed: int = 1
    ) -> AsyncIterator[str | Result[Usage]]:
        """Continues a prompt, up to the end of a sentence."""
        read = split(prompt)
        for done, _ in enumerate(read, 1):
            progress(done / len(read), "reads the prompt")
            await asyncio.sleep(0)
        chance = random.Random(seed)
        token, made = read[-1] if read else ".", 0
        finish: Literal["stop", "length"] = "length"
        while made < max_tokens and finish == "length":
            candidates = self.following.get(token.lower()) or self.following["."]
            token = candidates[int(chance.random() * len(candidates))]
            made += 1
            yield token if token in ",.;:?" else f" {token}"
            if token in ".?":
                finish = "stop"
        yield Result(Usage(len(read), made, finish))


def split(text: str) -> list[str]:
    return re.findall(r"[\w']+|[,.;:?]", text)
