//! What a command without the network tried to reach, as the kernel counted it.
//!
//! Such a command has a network namespace of its own, with nothing but a loopback. The kernel counts in each namespace what
//! it could not send because no route leads there. So it is known that the network was missing, whatever a program says
//! about that.
//!
//! The kernel counts no refused writes. A seccomp listener would see each attempt, but until it has received the call, a
//! signal whose handler does not restart calls makes the call fail with `EINTR`: also `mkdir` and `rename`, which never
//! fail so otherwise. Nothing outside of the kernel closes that gap, so a command could fail only because it is watched.
//! What a program prints of a refused write must be enough; the description of the tool tells the model what it means.

use std::fs;

/// What the user and the model are told.
pub(super) const NO_NETWORK: &str = "The command tried to reach the network, which was not granted. The model can ask for it with network = true.";

/// The same of a command of plan mode.
pub(super) const NO_NETWORK_IN_PLAN_MODE: &str =
    "The command tried to reach the network, which no command has in plan mode.";

/// How often something could not be sent in the namespace of this process. Counts that cannot be read are 0.
pub(super) fn count() -> u64 {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let v4 = read("/proc/self/net/snmp");
    let mut count = field(&v4, "Ip:", "OutNoRoutes");
    count += line(&read("/proc/self/net/snmp6"), "Ip6OutNoRoutes");
    // A name server that listens on the machine's own loopback is not in this one.
    if asks_loopback(&read("/etc/resolv.conf")) {
        count += field(&v4, "Udp:", "NoPorts");
    }
    count
}

/// A number of a table whose first line of each kind names the columns: `Ip: Forwarding DefaultTTL …`, `Ip: 2 64 …`.
fn field(table: &str, kind: &str, name: &str) -> u64 {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(kind));
    let names = lines.next().unwrap_or_default().split_whitespace();
    let values = lines.next().unwrap_or_default().split_whitespace();
    let found = names.zip(values).find(|(found, _)| *found == name);
    found.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// A number of a table with a name and a value in each line.
fn line(table: &str, name: &str) -> u64 {
    let mut lines = table.lines().map(str::split_whitespace);
    let value = lines.find_map(|mut words| (words.next() == Some(name)).then(|| words.next()));
    value
        .flatten()
        .and_then(|value| value.parse().ok())
        .unwrap_or(0)
}

fn asks_loopback(resolver: &str) -> bool {
    let mut lines = resolver.lines().map(str::split_whitespace);
    lines.any(|mut words| {
        words.next() == Some("nameserver")
            && words
                .next()
                .is_some_and(|server| server.starts_with("127.") || server == "::1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_tables_are_read() {
        let table =
            "Ip: Forwarding OutNoRoutes Last\nIp: 2 7 1\nUdp: InDatagrams NoPorts\nUdp: 3 4\n";
        assert_eq!(field(table, "Ip:", "OutNoRoutes"), 7);
        assert_eq!(field(table, "Udp:", "NoPorts"), 4);
        assert_eq!(field(table, "Tcp:", "NoPorts"), 0);
        assert_eq!(field("Ip: OutNoRoutes\nIp: x\n", "Ip:", "OutNoRoutes"), 0);
        let table = "Ip6InReceives   9\nIp6OutNoRoutes                  \t5\n";
        assert_eq!(line(table, "Ip6OutNoRoutes"), 5);
        assert_eq!(line("", "Ip6OutNoRoutes"), 0);
    }

    #[test]
    fn a_resolver_of_the_machine_itself_is_known() {
        assert!(asks_loopback(
            "# stub\nnameserver 127.0.0.53\noptions edns0\n"
        ));
        assert!(asks_loopback("nameserver ::1"));
        assert!(!asks_loopback(
            "nameserver 192.0.2.1\n#nameserver 127.0.0.1\n"
        ));
    }
}
