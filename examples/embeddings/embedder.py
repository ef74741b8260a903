"""A small model of text embeddings: the same numbers on every machine, and no download."""

from typing import TypedDict
from zlib import crc32

import numpy as np
from snakepit_bridge import Batch, tool

WORDS, HIDDEN, SIZE = 4096, 256, 64
random = np.random.default_rng(seed=1)
words = random.standard_normal((WORDS, HIDDEN), dtype=np.float32)
layer = random.standard_normal((HIDDEN, SIZE), dtype=np.float32)


class Work(TypedDict):
    texts: int
    passes: int


done = Work(texts=0, passes=0)


@tool(batch=Batch(max=32, wait_ms=5))
def embed(text: list[str]) -> list[list[float] | ValueError]:
    """Returns a vector of 64 numbers and length 1."""
    done["texts"] += len(text)
    done["passes"] += 1
    split = [each.lower().split() for each in text]
    vectors = np.tanh(np.stack([mean_of(each) for each in split]) @ layer)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    return [
        vector if found else ValueError("a text without words has no embedding")
        for vector, found in zip(vectors.tolist(), split, strict=True)
    ]


def mean_of(found: list[str]) -> np.ndarray:
    numbers = [crc32(word.encode()) % WORDS for word in found]
    return words[numbers].mean(axis=0) if numbers else np.zeros(HIDDEN, np.float32)


@tool
def work_done() -> Work:
    """Counts the texts, and the passes of the model in which they were."""
    return done
