"""How far a long command is: one line on the terminal that is written again and again, and nothing where stderr is no terminal."""
import shutil
import sys


def say(*words):
    """The line, as far as it fits, instead of the one before. What is printed next replaces it."""
    if sys.stderr.isatty():
        text = " ".join(str(word) for word in words)[:shutil.get_terminal_size().columns - 1]
        print(f"\r\033[K{text}\r", end="", file=sys.stderr, flush=True)


def end():
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
