//! The addresses of this machine's own interfaces, and the networks that they are attached to.
//!
//! A machine may have addresses of the internet: with IPv6 every machine at home has them. A server that only the
//! router's firewall keeps from strangers answers at such an address to whoever is on this machine, so a name that leads
//! there leads home.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Place;
use super::address::carried;

/// Bytes of each table that are read: routers hold the routes of the whole internet, and the own addresses stand first.
const MAX_TABLE_BYTES: u64 = 1024 * 1024;

/// The shortest prefixes that are taken for a network of one's own: a tunnel may claim to hold half of the internet.
const SHORTEST_V4: u32 = 16;
const SHORTEST_V6: u32 = 48;

/// An address of an interface, and how many of its leading bits its network has in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Attached {
    address: IpAddr,
    prefix: u32,
}

/// Where an address of the internet leads on this machine. A table that cannot be read names no addresses.
pub(super) fn place_of_public(ip: IpAddr) -> Place {
    place_among(
        ip,
        || v4(&table("/proc/net/fib_trie"), &table("/proc/net/route")),
        || v6(&table("/proc/net/if_inet6")),
    )
}

/// Where an address leads on a machine with these addresses. One that carries an IPv4 address leads where that leads.
fn place_among(
    ip: IpAddr,
    v4: impl FnOnce() -> Vec<Attached>,
    v6: impl FnOnce() -> Vec<Attached>,
) -> Place {
    let ip = carried(ip);
    let attached = match ip {
        IpAddr::V4(_) => v4(),
        IpAddr::V6(_) => v6(),
    };
    place_beside(&attached, ip)
}

/// Whether an interface other than the loopback has an address.
pub(super) fn has_network() -> bool {
    let attached = v4(&table("/proc/net/fib_trie"), &table("/proc/net/route"));
    let attached = attached.into_iter().chain(v6(&table("/proc/net/if_inet6")));
    is_connected(&attached.collect::<Vec<_>>())
}

fn is_connected(attached: &[Attached]) -> bool {
    attached.iter().any(|own| match own.address {
        IpAddr::V4(own) => !own.is_loopback(),
        // Every interface has a link-local address, connected or not.
        IpAddr::V6(own) => !own.is_loopback() && !own.is_unicast_link_local(),
    })
}

fn place_beside(attached: &[Attached], ip: IpAddr) -> Place {
    if attached.iter().any(|own| own.address == ip) {
        return Place::ThisMachine;
    }
    match attached.iter().any(|own| own.is_beside(ip)) {
        true => Place::PrivateNetwork,
        false => Place::Public,
    }
}

impl Attached {
    fn is_beside(&self, ip: IpAddr) -> bool {
        match (self.address, ip) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => {
                let differing = (own.to_bits() ^ ip.to_bits()).leading_zeros();
                self.prefix >= SHORTEST_V4 && differing >= self.prefix
            }
            (IpAddr::V6(own), IpAddr::V6(ip)) => {
                let differing = (own.to_bits() ^ ip.to_bits()).leading_zeros();
                self.prefix >= SHORTEST_V6 && differing >= self.prefix
            }
            _ => false,
        }
    }
}

fn table(path: &str) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        // What was read until an error is as good as nothing more.
        let _ = file.take(MAX_TABLE_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `fe80…0001 04 40 20 80 eth0`: address, interface, prefix, scope, flags, name.
fn v6(table: &str) -> Vec<Attached> {
    let read = |line: &str| {
        let mut words = line.split_whitespace();
        let address = u128::from_str_radix(words.next()?, 16).ok()?;
        let prefix = u32::from_str_radix(words.nth(1)?, 16).ok()?;
        Some(Attached {
            address: Ipv6Addr::from_bits(address).into(),
            prefix,
        })
    };
    table.lines().filter_map(read).collect()
}

/// The own addresses are the leaves `|-- 203.0.113.5` above `/32 host LOCAL`; the network of one is a route without a
/// gateway that holds it.
fn v4(tries: &str, routes: &str) -> Vec<Attached> {
    let networks: Vec<(u32, u32)> = routes.lines().filter_map(network).collect();
    let mut found = Vec::new();
    let mut leaf: Option<Ipv4Addr> = None;
    for line in tries.lines().map(str::trim_start) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.trim_end().parse().ok();
        } else if let (Some(own), true) = (leaf, line.starts_with("/32 host LOCAL")) {
            let bits = own.to_bits();
            let holding = networks.iter().filter(|(to, mask)| bits & mask == *to);
            let prefix = holding.map(|(_, mask)| mask.leading_ones()).max();
            let attached = Attached {
                address: own.into(),
                prefix: prefix.unwrap_or(32),
            };
            if !found.contains(&attached) {
                found.push(attached);
            }
        }
    }
    found
}

/// `eth0 000200C0 00000000 0001 0 0 0 00FFFFFF …`: interface, destination, gateway, flags, three numbers, mask; the
/// numbers in the order of this machine's bytes.
fn network(route: &str) -> Option<(u32, u32)> {
    let mut words = route.split_whitespace().skip(1);
    let mut number = || {
        let number = u32::from_str_radix(words.next()?, 16).ok()?;
        Some(u32::from_be_bytes(number.to_ne_bytes()))
    };
    let (to, gateway) = (number()?, number()?);
    let mask = words.nth(4)?;
    let mask = u32::from_be_bytes(u32::from_str_radix(mask, 16).ok()?.to_ne_bytes());
    (gateway == 0).then_some((to, mask))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIES: &str = "Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/31 1 0 0
        |-- 127.0.0.1
           /32 host LOCAL
     +-- 9.8.7.0/30 2 0 2
        |-- 9.8.7.0
           /24 link UNICAST
        |-- 9.8.7.2
           /32 host LOCAL
     |-- 9.8.7.255
        /32 link BROADCAST
     |-- 5.5.5.5
        /32 host LOCAL
";

    const ROUTES: &str = "\
Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t01070809\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t00070809\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0
";

    const V6: &str = "\
00000000000000000000000000000001 01 80 10 80       lo
fe8000000000000000fc00fffe000001 04 40 20 80     eth0
2a001450400100010000000000000005 04 40 00 82     eth0
2a020000000000000000000000000001 05 03 00 82     tun0
nonsense
";

    #[test]
    #[cfg(target_endian = "little")]
    fn own_addresses_and_their_networks_are_told_from_the_internet() {
        let (v4, v6) = (v4(TRIES, ROUTES), v6(V6));
        for (ip, expected) in [
            ("9.8.7.2", Place::ThisMachine),
            ("9.8.7.77", Place::PrivateNetwork),
            ("9.8.6.1", Place::Public),
            ("5.5.5.5", Place::ThisMachine),
            // A tunnel that holds half of the internet is not a network of one's own.
            ("5.5.5.6", Place::Public),
            ("2a00:1450:4001:1::5", Place::ThisMachine),
            ("2a00:1450:4001:1::77", Place::PrivateNetwork),
            ("2a00:1450:4001:2::5", Place::Public),
            ("2a02::2", Place::Public),
            ("::ffff:9.8.7.2", Place::ThisMachine),
            ("::ffff:9.8.7.77", Place::PrivateNetwork),
            ("::ffff:9.8.6.1", Place::Public),
            ("64:ff9b::9.8.7.2", Place::ThisMachine),
            ("64:ff9b::9.8.7.77", Place::PrivateNetwork),
            ("64:ff9b::9.8.6.1", Place::Public),
        ] {
            let ip: IpAddr = ip.parse().unwrap();
            let place = place_among(ip, || v4.clone(), || v6.clone());
            assert_eq!(place, expected, "{ip}");
        }
        assert_eq!(place_beside(&[], "9.8.7.2".parse().unwrap()), Place::Public);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_machine_with_nothing_but_its_loopback_has_no_network() {
        assert!(is_connected(&v4(TRIES, ROUTES)));
        assert!(is_connected(&v6(V6)));
        let lonely = "00000000000000000000000000000001 01 80 10 80       lo\n\
                      fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n";
        assert!(!is_connected(&v6(lonely)));
        assert!(!is_connected(&[]));
    }

    #[test]
    fn the_tables_of_this_machine_can_be_read() {
        let v4 = v4(&table("/proc/net/fib_trie"), &table("/proc/net/route"));
        let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert!(v4.iter().any(|own| own.address == loopback), "{v4:?}");
    }
}
