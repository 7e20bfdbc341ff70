# What recordings have in common: a home folder, a scripted model and a terminal. To be sourced by the script that
# records, which says in `scenes` what happens and then calls `perform`.
#
# The sessions run in namespaces of their own, so that the home folder is /home/ada and port 8080 is free.

# Which terminal is typed into.
terminal=tour

# Sets up the home folder, which is what `home` holds, the model and tmux, within the namespaces.
stage() {
    ip link set lo up
    mount -t tmpfs tmpfs /home
    cp -r "$folder/home" /home/ada
    mkdir /home/ada/shore/.git
    cp "$folder/dunlin" /home/ada/dunlin
    python3 "$folder/provider.py" &
    provider=$!
    trap 'kill $provider; tmux -S "$folder/tmux" kill-server 2>/dev/null || true' EXIT
    # The server of tmux ends with its last session, which would be between two recordings.
    tmux -S "$folder/tmux" -f /dev/null new-session -d -s keep
    until (exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null; do sleep 0.1; done

    # What the shell in the terminal sees.
    environment=(-i HOME=/home/ada PATH="/home/ada:$PATH" LANG=C.UTF-8 PS1='$ ' TERM=tmux-256color COLORTERM=truecolor)
}

# Opens a terminal of so many columns and rows in the project.
start() {
    tmux -S "$folder/tmux" new-session -d -s "$terminal" -x "${1:-110}" -y "${2:-60}" -c /home/ada/shore \
        env "${environment[@]}" bash --norc --noprofile
    await '\$ $'
}

# Types a line, and waits until a line that came after it looks like $2.
enter() {
    before=$(screen | wc -l)
    tmux -S "$folder/tmux" send-keys -t "$terminal" -l -- "$1"
    tmux -S "$folder/tmux" send-keys -t "$terminal" Enter
    await "$2" "$before"
}

# Presses keys, as tmux names them, and waits until the screen looks like the last argument.
press() {
    tmux -S "$folder/tmux" send-keys -t "$terminal" "${@:1:$#-1}"
    await "${!#}"
}

# Presses a key until the screen looks like $2. Dunlin ignores keys for what has only just appeared.
press_until() {
    for _ in $(seq 30); do
        tmux -S "$folder/tmux" send-keys -t "$terminal" "$1"
        sleep 0.5
        if screen | grep -qE -- "$2"; then return; fi
    done
    await "$2"
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
    tmux -S "$folder/tmux" capture-pane -t "$terminal" -pNS - | sed -e 's/ *$/ /' -e 's/^ $//' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}

# Keeps what the terminal shows, without the empty prompt at the end, and closes it.
stop() {
    screen | sed -e 's/ *$//' | sed -Ee '${/^(\$|›.*)$/d}' >"$folder/$1.txt"
    tmux -S "$folder/tmux" kill-session -t "$terminal"
}

# Keeps what the terminal shows, with its colours.
picture() {
    tmux -S "$folder/tmux" capture-pane -t "$terminal" -pe ${2:+-S "$2"} >"$folder/$1.ansi"
}

# Records with this program, and leaves the results in $folder. $0 is started a second time within the namespaces.
perform() {
    if [ "${1-}" = --inside ]; then
        folder=$2
        stage
        scenes
        exit
    fi
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    cp "${1:-$tour/../../target/release/dunlin}" "$folder/dunlin"
    cp -r "$tour/provider.py" "$tour/script.json" "$tour/home" "$folder"
    unshare --user --map-root-user --mount --net --pid --mount-proc --fork --kill-child \
        bash "$0" --inside "$folder"
}
