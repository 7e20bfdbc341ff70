#!/usr/bin/env bash
# Records the sessions that the README and docs/ show, and the picture, with a real Dunlin in a real terminal.
#
#   docs/tour/record.sh [PROGRAM]      PROGRAM: the dunlin to record [default: target/release/dunlin]
#
# The model is scripted (provider.py); all that Dunlin says is its own. The sessions run in namespaces of their own, so
# that the home folder is /home/ada and port 8080 is free. Needs tmux, Python 3, iproute2, make, user namespaces, and
# for the plugin clang, lld and wasi-libc.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# The second start of this script, within the namespaces; $1 is the folder for what it recorded.
inside() {
    folder=$1
    ip link set lo up
    mount -t tmpfs tmpfs /home
    mkdir -p /home/ada/docs /home/ada/shore/.git
    cp "$folder/dunlin" /home/ada/dunlin
    printf 'The sandpiper nests in June.\nThe sandpiper lays four eggs.\n' >/home/ada/docs/birds.txt
    printf 'Dear diary.\n' >/home/ada/docs/diary.txt
    printf 'def greet(name):\n    return "Helo " + name\n' >/home/ada/shore/greet.py
    printf 'Four eggs, in June.\n' >/home/ada/shore/notes.md
    printf 'test:\n\t@grep -q June notes.md && echo "1 test passed"\n' >/home/ada/shore/Makefile
    python3 "$folder/provider.py" &
    provider=$!
    trap 'kill $provider; tmux -S "$folder/tmux" kill-server 2>/dev/null || true' EXIT
    # The server of tmux ends with its last session, which would be between two recordings.
    tmux -S "$folder/tmux" -f /dev/null new-session -d -s keep
    until (exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null; do sleep 0.1; done

    # What the shell in the terminal sees.
    environment=(-i HOME=/home/ada PATH="/home/ada:$PATH" LANG=C.UTF-8 PS1='$ ' TERM=tmux-256color COLORTERM=truecolor)

    start
    enter 'dunlin' '1-2 \[1\] $'
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
    tmux -S "$folder/tmux" capture-pane -t tour -peS - >"$folder/picture.ansi"
    stop picture

    start
    enter 'dunlin --fresh' '^› Type'
    enter 'Do the tests pass?' 'allow\? $'
    enter 'always' 'passes\.'
    await '^› Type'
    tmux -S "$folder/tmux" send-keys -t tour C-d
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

# Opens a terminal of 110 columns in the project.
start() {
    tmux -S "$folder/tmux" new-session -d -s tour -x 110 -y 60 -c /home/ada/shore \
        env "${environment[@]}" bash --norc --noprofile
    await '\$ $'
}

# Types a line, and waits until a line that came after it looks like $2.
enter() {
    before=$(screen | wc -l)
    tmux -S "$folder/tmux" send-keys -t tour -l -- "$1"
    tmux -S "$folder/tmux" send-keys -t tour Enter
    await "$2" "$before"
}

# Waits until one of the lines after the $2nd looks like $1.
await() {
    for _ in $(seq 600); do
        if screen | tail -n "+$((${2:-0} + 1))" | grep -qE -- "$1"; then return; fi
        sleep 0.1
    done
    echo "there is no '$1' on the screen:" >&2
    screen >&2
    exit 1
}

# What the terminal shows, without empty lines at the end. Prompts keep the space behind them.
screen() {
    tmux -S "$folder/tmux" capture-pane -t tour -pNS - | sed -e 's/ *$/ /' -e 's/^ $//' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}

# Keeps what the terminal shows, without the empty prompt at the end, and closes it.
stop() {
    screen | sed -e 's/ *$//' | sed -Ee '${/^(\$|›.*)$/d}' >"$folder/$1.txt"
    tmux -S "$folder/tmux" kill-session -t tour
}

if [ "${1-}" = --inside ]; then
    inside "$2"
    exit
fi

program=${1:-$here/../../target/release/dunlin}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$program" "$folder/dunlin"
cp "$here"/record.sh "$here"/provider.py "$folder"
unshare --user --map-root-user --mount --net --pid --mount-proc --fork --kill-child \
    bash "$folder/record.sh" --inside "$folder"
python3 "$here/insert.py" "$folder" "$here/session.svg" "$here/../../README.md" "$here"/../*.md
