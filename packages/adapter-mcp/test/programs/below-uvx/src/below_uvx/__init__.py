"""A package whose command runs the program that it is given."""

import runpy
import sys


def main() -> None:
    runpy.run_path(sys.argv[1], run_name="__main__")
