//! Every block of addresses with a meaning of its own, and the ways to write them.

use super::*;

fn place(address: &str) -> Place {
    place_of(address.parse().unwrap())
}

#[test]
fn blocks_have_their_places() {
    use Place::{PrivateNetwork, Public, ThisMachine};
    for (address, expected) in [
        ("1.1.1.1", Public),
        ("8.8.8.8", Public),
        ("93.184.216.34", Public),
        ("172.15.255.255", Public),
        ("172.32.0.1", Public),
        ("100.63.255.255", Public),
        ("100.128.0.1", Public),
        ("192.167.1.1", Public),
        ("198.17.0.1", Public),
        ("223.255.255.255", Public),
        ("127.0.0.1", ThisMachine),
        ("127.255.255.254", ThisMachine),
        ("10.0.0.1", PrivateNetwork),
        ("172.16.0.1", PrivateNetwork),
        ("172.31.255.255", PrivateNetwork),
        ("192.168.178.1", PrivateNetwork),
        ("100.64.0.1", PrivateNetwork),
        ("100.127.255.255", PrivateNetwork),
        ("198.18.0.1", PrivateNetwork),
        ("198.19.255.255", PrivateNetwork),
        ("0.0.0.0", Place::Never(THIS_NETWORK)),
        ("0.1.2.3", Place::Never(THIS_NETWORK)),
        ("169.254.1.1", Place::Never(LINK_LOCAL)),
        ("169.254.169.254", Place::Never(METADATA)),
        ("169.254.170.2", Place::Never(METADATA)),
        ("100.100.100.200", Place::Never(METADATA)),
        ("168.63.129.16", Place::Never(METADATA)),
        ("192.0.0.192", Place::Never(METADATA)),
        ("192.0.0.1", Place::Never(RESERVED)),
        ("192.0.2.1", Place::Never(DOCUMENTATION)),
        ("198.51.100.7", Place::Never(DOCUMENTATION)),
        ("203.0.113.9", Place::Never(DOCUMENTATION)),
        ("192.88.99.1", Place::Never(TUNNEL)),
        ("224.0.0.1", Place::Never(MULTICAST)),
        ("239.255.255.255", Place::Never(MULTICAST)),
        ("240.0.0.1", Place::Never(RESERVED)),
        ("255.255.255.255", Place::Never(BROADCAST)),
        ("2606:4700::1111", Public),
        ("2a00:1450::1", Public),
        ("2001:4860:4860::8888", Public),
        ("2001:200::1", Public),
        ("::1", ThisMachine),
        ("::ffff:127.0.0.1", ThisMachine),
        ("::ffff:10.1.2.3", PrivateNetwork),
        ("::ffff:8.8.8.8", Public),
        ("::ffff:169.254.169.254", Place::Never(METADATA)),
        ("fc00::1", PrivateNetwork),
        ("fd12:3456::1", PrivateNetwork),
        ("fd00:ec2::254", Place::Never(METADATA)),
        ("fd00:ec2::23", Place::Never(METADATA)),
        ("fd20:ce::254", Place::Never(METADATA)),
        ("::", Place::Never(THIS_NETWORK)),
        ("::7f00:1", Place::Never(RESERVED)),
        ("::8.8.8.8", Place::Never(RESERVED)),
        ("::ffff:0:127.0.0.1", Place::Never(RESERVED)),
        ("64:ff9b::8.8.8.8", Public),
        ("64:ff9b::127.0.0.1", Place::Never(TUNNEL)),
        ("64:ff9b::10.0.0.1", Place::Never(TUNNEL)),
        ("64:ff9b::169.254.169.254", Place::Never(METADATA)),
        ("64:ff9b:1::8.8.8.8", Place::Never(TUNNEL)),
        ("2001::1", Place::Never(TUNNEL)),
        ("2002:7f00:1::", Place::Never(TUNNEL)),
        ("2001:2::1", Place::Never(RESERVED)),
        ("2001:20::1", Place::Never(RESERVED)),
        ("2001:db8::1", Place::Never(DOCUMENTATION)),
        ("3fff:fff::1", Place::Never(DOCUMENTATION)),
        ("3fff:1000::1", Public),
        ("100::1", Place::Never(RESERVED)),
        ("5f00::1", Place::Never(RESERVED)),
        ("fe80::1", Place::Never(LINK_LOCAL)),
        ("fec0::1", Place::Never(RESERVED)),
        ("ff02::1", Place::Never(MULTICAST)),
    ] {
        assert_eq!(place(address), expected, "{address}");
    }
}

#[test]
fn an_address_is_seen_in_every_spelling() {
    for (url, expected) in [
        ("http://127.0.0.1/", Some(Place::ThisMachine)),
        ("http://127.1/", Some(Place::ThisMachine)),
        ("http://2130706433/", Some(Place::ThisMachine)),
        ("http://0x7f000001/", Some(Place::ThisMachine)),
        ("http://0177.0.0.1/", Some(Place::ThisMachine)),
        ("http://0x7f.0.0x1/", Some(Place::ThisMachine)),
        ("http://127.0.0.1./", Some(Place::ThisMachine)),
        ("http://１２７.0.0.1/", Some(Place::ThisMachine)),
        ("http://127。0。0。1/", Some(Place::ThisMachine)),
        ("http://%31%32%37.0.0.1/", Some(Place::ThisMachine)),
        ("http://[::ffff:127.0.0.1]/", Some(Place::ThisMachine)),
        ("http://[::ffff:7f00:1]/", Some(Place::ThisMachine)),
        ("http://[0:0:0:0:0:0:0:1]/", Some(Place::ThisMachine)),
        ("http://localhost/", Some(Place::ThisMachine)),
        ("http://LOCALHOST./", Some(Place::ThisMachine)),
        ("http://a.b.localhost:8080/", Some(Place::ThisMachine)),
        ("http://ⓛocalhost/", Some(Place::ThisMachine)),
        ("http://10.1/", Some(Place::PrivateNetwork)),
        ("http://0/", Some(Place::Never(THIS_NETWORK))),
        ("http://0xa9fea9fe/", Some(Place::Never(METADATA))),
        ("http://[::ffff:a9fe:a9fe]/", Some(Place::Never(METADATA))),
        ("http://example.com/", None),
        ("http://localhost.example.com/", None),
        ("http://notlocalhost/", None),
        ("http://127.0.0.1.example.com/", None),
    ] {
        assert_eq!(named_place(&url.parse().unwrap()), expected, "{url}");
    }
    // Zones name a network card of this machine; the standard has none.
    for url in [
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[::1",
        "http://256.0.0.1/",
    ] {
        assert!(url.parse::<Url>().is_err(), "{url}");
    }
}
