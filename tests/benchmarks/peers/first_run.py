"""Types what a new user types, from the name of a chat to the first answer, and counts keys and seconds.

    first_run.py URL [CHAT...]       chats: dunlin, aichat, codex, opencode; those that are not installed are named and skipped

Each chat runs in tmux with an empty home; its server is at URL, with a path such as /v1. It has to answer "hello" with a reply that
has the word in ANSWER. A pasted text is one key, as it is for whoever pastes it. The seconds are those that the chat takes: a key
is pressed as soon as the screen shows what it answers, and pauses of this script do not count. For a chat that has no question for
the URL, the file that its documentation names is pasted.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ANSWER = "deterministic"
ROUNDS = 3
PATIENCE = 90
# Between the last letter and Enter: some chats take what comes together for something pasted.
PAUSE = 0.2


def dunlin(screen, url):
    screen.line("dunlin")
    screen.wait(r"Which one\?")
    screen.paste(url)
    screen.key("Enter")
    # A server with one model is not asked about.
    if "Which model" in screen.wait(r"Which model\?|Save this configuration\?"):
        screen.key("Enter")
        screen.wait(r"Save this configuration\?")
    screen.line("y")
    screen.wait(r"(?m)^› ")
    screen.line("hello", r"(?m)^› hello")


def aichat(screen, url):
    screen.line("aichat")
    screen.wait(r"create a new one\?")
    screen.key("Enter")
    screen.wait(r"> openai\b")
    screen.key("Down")
    screen.key("Enter")
    screen.wait(r"Provider Name")
    screen.line("m")
    screen.wait(r"API Base")
    screen.paste(url)
    screen.key("Enter")
    screen.wait(r"API Key")
    screen.key("Enter")
    screen.wait(r"LLMs to include")
    screen.key("Space")
    screen.key("Enter")
    screen.wait(r"(?m)^> *$")
    screen.line("hello", r"(?m)^> hello")


def codex(screen, url):
    file = f'''model = "gpt-4o"
model_provider = "mine"

[model_providers.mine]
name = "mine"
base_url = "{url}"
'''
    written(screen, ".codex/config.toml", file)
    screen.line("codex")
    screen.wait(r"Ask Codex")
    screen.line("hello")


def opencode(screen, url):
    file = f'''{{
  "model": "mine/gpt-4o",
  "provider": {{
    "mine": {{
      "npm": "@ai-sdk/openai-compatible",
      "options": {{"baseURL": "{url}"}},
      "models": {{"gpt-4o": {{}}}}
    }}
  }}
}}
'''
    written(screen, ".config/opencode/opencode.json", file)
    screen.line("opencode")
    screen.wait(r"Ask anything")
    screen.line("hello")


def written(screen, path, text):
    """A file is written as from a page that shows it."""
    screen.line(f"mkdir -p ~/{path.rpartition('/')[0]}")
    screen.line(f"cat >~/{path}")
    screen.paste(text)
    screen.key("C-d")
    screen.wait(r"\$$")


CHATS = {"dunlin": dunlin, "aichat": aichat, "codex": codex, "opencode": opencode}


class Screen:
    """A terminal with a shell in an empty home."""

    def __init__(self, home):
        self.keys = 0
        self.answers = 0
        self.paused = 0
        # A server of its own: one that ends takes no new session.
        self.socket = str(home / "tmux")
        (home / "project").mkdir()
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "40", "-c", str(home / "project"),
                  "env", "-i", f"HOME={home}", f"PATH={os.environ['PATH']}", "TERM=xterm-256color", "LANG=C.UTF-8",
                  "PS1=$ ", "bash", "--norc", "--noprofile", "-i")
        self.wait(r"\$$")

    def tmux(self, *arguments, text=None):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], input=text, check=True, capture_output=True,
                              text=True).stdout

    def line(self, text, shown=None):
        self.tmux("send-keys", "-l", text)
        self.keys += len(text)
        if shown:
            self.wait(shown)
        self.pause()
        self.answers = self.shown().count(ANSWER)
        self.key("Enter")

    def paste(self, text):
        self.tmux("load-buffer", "-", text=text)
        self.tmux("paste-buffer")
        self.keys += 1
        self.pause()

    def pause(self):
        time.sleep(PAUSE)
        self.paused += PAUSE

    def key(self, name):
        self.tmux("send-keys", name)
        self.keys += 1

    def shown(self):
        return self.tmux("capture-pane", "-p").rstrip()

    def wait(self, pattern):
        return self.wait_until(pattern, lambda shown: re.search(pattern, shown))

    def wait_for_answer(self):
        self.wait_until("an answer", lambda shown: shown.count(ANSWER) > self.answers)

    def wait_until(self, what, holds):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            shown = self.shown()
            if holds(shown):
                return shown
            time.sleep(0.01)
        raise TimeoutError(f"{what} did not appear:\n{shown}")

    def close(self):
        self.tmux("kill-server")


def first_run(chat, url):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        screen = Screen(Path(home))
        try:
            begin = time.monotonic()
            CHATS[chat](screen, url)
            screen.wait_for_answer()
            return screen.keys, time.monotonic() - begin - screen.paused
        finally:
            screen.close()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    url, chosen = sys.argv[1], sys.argv[2:] or list(CHATS)
    runs = {}
    for chat in chosen:
        if shutil.which(chat):
            runs[chat] = []
        else:
            print(f"{chat} is not installed", file=sys.stderr)
    for _ in range(ROUNDS):
        for chat in list(runs):
            try:
                runs[chat].append(first_run(chat, url))
            except TimeoutError as problem:
                print(f"{chat}: {problem}", file=sys.stderr)
                del runs[chat]
    print("| | keys | seconds |")
    print("| --- | --- | --- |")
    for chat, found in runs.items():
        print(f"| {chat} | {found[0][0]} | {statistics.median(seconds for _, seconds in found):.1f} |")


if __name__ == "__main__":
    main()
