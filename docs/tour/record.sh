#!/usr/bin/env bash
# Records the sessions that the README and docs/ show, and the picture, with a real Dunlin in a real terminal.
#
#   docs/tour/record.sh [PROGRAM]      PROGRAM: the dunlin to record [default: target/release/dunlin]
#
# The model is scripted (provider.py); all that Dunlin says is its own. Needs tmux, Python 3, iproute2, make, user
# namespaces, and for the plugin clang, lld and wasi-libc.
set -euo pipefail
tour=$(cd "$(dirname "$0")" && pwd)
. "$tour/stage.sh"

scenes() {
    start
    enter 'dunlin' '1-4 \[1\] $'
    enter '1' 'y/n\] $'
    enter 'y' '^› Type'
    stop first-run

    start
    enter 'dunlin' '^› Type'
    enter 'When do sandpipers nest? It is in ~/docs/birds.txt' 'allow\? $'
    enter 'y' 'eggs\.'
    await '^› Type'
    stop chat

    start
    enter 'dunlin --fresh' '^› Type'
    enter 'Fix the greeting in greet.py' 'allow\? $'
    enter 'y' 'Hello, Ada!'
    await '^› Type'
    picture session -
    stop session

    start
    enter 'dunlin --fresh' '^› Type'
    enter 'Do the tests pass?' 'allow\? $'
    enter 'always' 'passes\.'
    await '^› Type'
    tmux -S "$folder/tmux" send-keys -t "$terminal" C-d
    await '\$ $'
    enter 'dunlin permissions list' '\$ $'
    stop command

    start
    enter 'dunlin --fresh' '^› Type'
    enter 'Write down what we know about sandpipers' 'approve\? $'
    enter 'y 1 2' 'approve\? $'
    enter 'n 3 the diary is private' 'alone\.'
    await '^› Type'
    stop batch

    start
    enter 'dunlin' '^› Type'
    stop resume

    start
    enter 'dunlin plugin new words --lang c && cd words' '\$ $'
    enter 'dunlin plugin build' '\$ $'
    enter 'dunlin plugin test' '\$ $'
    enter 'dunlin plugin install --yes' '\$ $'
    enter 'cd .. && dunlin --fresh' '^› Type'
    enter 'How many words has notes.md?' 'has [0-9]+ words'
    await '^› Type'
    stop plugin

    # A session in which something failed is not for the documentation.
    if grep -H '^error:' "$folder"/*.txt >&2; then exit 1; fi
}

perform "$@"
python3 "$tour/insert.py" "$folder" "$tour/../../README.md" "$tour"/../*.md
python3 "$tour/draw.py" "$folder/session.ansi" "$tour/session.svg"
