//! Where an IP address leads: onto the internet, to this machine, into a private network, or to a place that no
//! tool has any business at.
//!
//! A name says nothing about that: anybody can let a name of their own lead to `127.0.0.1`. So every address that
//! a name comes to is looked at, and addresses that carry another one inside are judged by the one inside.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Where an address leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The internet.
    Public,
    /// A server on this machine.
    ThisMachine,
    /// A network that is not the internet: the user's own, that of a company, of a provider.
    PrivateNetwork,
    /// Nowhere that a tool may go, whatever was granted; says what such addresses are for.
    Never(&'static str),
}

/// Ends a sentence that starts with the address or what leads to it.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Public => f.write_str("is on the internet"),
            Place::ThisMachine => f.write_str("is on this machine"),
            Place::PrivateNetwork => f.write_str("is in a private network"),
            Place::Never(what) => write!(f, "is {what}"),
        }
    }
}

/// Services that hand the credentials of a machine to whoever asks from within it. Of them there is one in every
/// cloud, and none that a tool needs.
const METADATA: &str = "an address at which a cloud gives out credentials";

const THIS_NETWORK: &str = "no address of a server; for this machine write 127.0.0.1";
const LINK_LOCAL: &str = "a link-local address";
const MULTICAST: &str = "a multicast address";
const BROADCAST: &str = "the broadcast address";
const RESERVED: &str = "a reserved address";
const DOCUMENTATION: &str = "an address that only occurs in documentation";
const TUNNEL: &str = "an address of a tunnel, which may lead anywhere";

/// IPv4 addresses of metadata services outside of the link-local block, which is never granted as a whole.
const METADATA_V4: [Ipv4Addr; 3] = [
    // Alibaba.
    Ipv4Addr::new(100, 100, 100, 200),
    // Azure.
    Ipv4Addr::new(168, 63, 129, 16),
    // Oracle.
    Ipv4Addr::new(192, 0, 0, 192),
];

/// Their IPv6 addresses.
const METADATA_V6: [Ipv6Addr; 4] = [
    // AWS, its containers, and Google.
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    // Oracle.
    Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
];

/// Where an address leads.
pub fn place_of(address: IpAddr) -> Place {
    match address {
        IpAddr::V4(address) => place_of_v4(address),
        IpAddr::V6(address) => place_of_v6(address),
    }
}

/// Where the host of a URL leads if it says so itself: it is an address, or a name of this machine. `None`: a name
/// that has to be looked up.
pub fn named_place(url: &Url) -> Option<Place> {
    match url.host()? {
        Host::Ipv4(address) => Some(place_of_v4(address)),
        Host::Ipv6(address) => Some(place_of_v6(address)),
        Host::Domain(name) => is_localhost(name).then_some(Place::ThisMachine),
    }
}

/// Whether a name means this machine by convention (RFC 6761): it is never looked up.
pub(super) fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let name = name.to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// The IPv4 address that an IPv6 address carries: as another form of it (`::ffff:0:0/96`), or for the translator of a
/// network without IPv4, whose name server puts every public IPv4 address into `64:ff9b::/96`. Otherwise the address
/// itself.
pub(super) fn carried(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => match address.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low)).into()
            }
            _ => address.into(),
        },
        address => address,
    }
}

fn place_of_v4(address: Ipv4Addr) -> Place {
    if METADATA_V4.contains(&address) {
        return Place::Never(METADATA);
    }
    match address.octets() {
        [0, ..] => Place::Never(THIS_NETWORK),
        [127, ..] => Place::ThisMachine,
        [169, 254, 169, 254] | [169, 254, 170, 2 | 23] | [169, 254, 0, 23] => {
            Place::Never(METADATA)
        }
        [169, 254, ..] => Place::Never(LINK_LOCAL),
        // Home and company networks; carrier-grade NAT, which Tailscale uses as well; and the block for
        // measurements, which proxies on this machine take for names that they look up themselves.
        [10, ..]
        | [172, 16..=31, ..]
        | [192, 168, ..]
        | [100, 64..=127, ..]
        | [198, 18 | 19, ..] => Place::PrivateNetwork,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Place::Never(DOCUMENTATION),
        [192, 0, 0, _] => Place::Never(RESERVED),
        [192, 88, 99, _] => Place::Never(TUNNEL),
        [224..=239, ..] => Place::Never(MULTICAST),
        [255, 255, 255, 255] => Place::Never(BROADCAST),
        [240..=255, ..] => Place::Never(RESERVED),
        _ => Place::Public,
    }
}

fn place_of_v6(address: Ipv6Addr) -> Place {
    if let Some(inner) = address.to_ipv4_mapped() {
        return place_of_v4(inner);
    }
    if METADATA_V6.contains(&address) {
        return Place::Never(METADATA);
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Place::Never(THIS_NETWORK),
        [0, 0, 0, 0, 0, 0, 0, 1] => Place::ThisMachine,
        // A private address gets here by somebody's intention only.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => match place_of(carried(address.into())) {
            Place::Public => Place::Public,
            Place::Never(what) => Place::Never(what),
            Place::ThisMachine | Place::PrivateNetwork => Place::Never(TUNNEL),
        },
        // Local NAT64, Teredo, 6to4: an IPv4 address inside, and nobody knows who unpacks it.
        [0x64, 0xff9b, 1, ..] | [0x2001, 0, ..] | [0x2002, ..] => Place::Never(TUNNEL),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Place::Never(DOCUMENTATION),
        // Protocol assignments: measurements, ORCHID and the like.
        [0x2001, 1..=0x1ff, ..] => Place::Never(RESERVED),
        [0x2000..=0x3fff, ..] => Place::Public,
        [0xfc00..=0xfdff, ..] => Place::PrivateNetwork,
        [0xfe80..=0xfebf, ..] => Place::Never(LINK_LOCAL),
        [0xff00..=0xffff, ..] => Place::Never(MULTICAST),
        // IPv4-compatible and site-local addresses are obsolete, the rest was never given out.
        _ => Place::Never(RESERVED),
    }
}

#[cfg(test)]
mod tests;
