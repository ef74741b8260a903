"""Reads handwritten digits, none by a classifier that was trained on it.

The images are the 1,797 of the UCI data set that ships inside scikit-learn. They
are cut into five groups, and each group has a classifier of its own, which was
trained on the other four. The groups are neighbours in the data set, not shuffled:
neighbours are often by one hand, which no classifier shall know already.
"""

from collections.abc import Iterator
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from snakepit_bridge import tool, toolset

GROUPS = 5

Pixels = NDArray[np.uint8]


class Image(TypedDict):
    """One image: its pixels, what it shows, and its group."""

    pixels: Pixels
    shows: int
    group: int


@toolset
class Digits:
    """The tools of one worker, which trains its classifiers when it starts."""

    def __init__(self) -> None:
        """Trains one classifier per group, on all images but that group's."""
        pixels, shows = load_digits(return_X_y=True)
        self.pixels: Pixels = pixels.astype(np.uint8)
        self.shows = shows
        self.groups = np.arange(len(shows)) * GROUPS // len(shows)
        self.classifiers = [
            SVC(gamma=0.001, C=10).fit(
                self.pixels[self.groups != group], shows[self.groups != group]
            )
            for group in range(GROUPS)
        ]

    @tool
    def images(self) -> Iterator[Image]:
        """Yields every image, in the order of the data set."""
        for pixels, shows, group in zip(
            self.pixels, self.shows, self.groups, strict=True
        ):
            yield Image(pixels=pixels, shows=int(shows), group=int(group))

    @tool
    def read(self, pixels: Pixels, group: int) -> int:
        """Returns the digit in an image, as read by the classifier of its group."""
        return int(self.classifiers[group].predict([pixels])[0])
