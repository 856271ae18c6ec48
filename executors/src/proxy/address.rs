//! Whose an address is: somebody's in the world, or this machine's and that of networks around it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Tells whether an address is somebody's in the world.
pub(super) fn is_of_world(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_v4_of_world(address),
        IpAddr::V6(address) => is_v6_of_world(address),
    }
}

/// What is nobody's in the world, by the registries of the IANA for special purposes: the first bits, and how many.
const NOT_OF_WORLD: [([u8; 4], u32); 15] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

fn is_v4_of_world(address: Ipv4Addr) -> bool {
    let is_within = |(first, bits): &([u8; 4], u32)| {
        (address.to_bits() ^ u32::from_be_bytes(*first)) >> (32 - bits) == 0
    };
    !NOT_OF_WORLD.iter().any(is_within)
}

fn is_v6_of_world(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    match (first, second) {
        // Where a network translates, the address within it counts.
        (0x64, 0xff9b) if address.segments()[2..6] == [0; 4] => {
            let [.., a, b, c, d] = address.octets();
            is_v4_of_world(Ipv4Addr::new(a, b, c, d))
        }
        // Tunnels lead to addresses within, and examples nowhere.
        (0x2001, 0..0x200 | 0xdb8) | (0x2002, _) => false,
        _ => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        for (is_there, addresses) in [
            (
                true,
                "1.1.1.1 100.63.255.255 172.32.0.1 192.169.0.1 223.255.255.255",
            ),
            (true, "2606:4700::1111 64:ff9b::101:101 ::ffff:1.1.1.1"),
            (
                false,
                "0.0.0.0 10.1.2.3 100.100.100.200 127.0.0.1 127.9.9.9 172.31.255.255",
            ),
            (
                false,
                "192.0.0.192 192.168.1.1 198.19.0.1 224.0.0.1 255.255.255.255 ::ffff:10.0.0.1",
            ),
            (
                false,
                ":: ::1 fc00::1 fd12::1 ff02::1 fec0::1 2001:db8::1 2001::1 2002:7f00:1::",
            ),
            (
                false,
                "64:ff9b::a00:1 64:ff9b:1::101:101 ::7f00:1 64:ff9b::a9fe:a9fe",
            ),
            (
                false,
                "169.254.169.254 169.254.0.1 ::ffff:169.254.169.254 fe80::1 febf::1 fd00:ec2::254",
            ),
        ] {
            for address in addresses.split(' ') {
                let read = address.parse().expect(address);
                assert_eq!(is_of_world(read), is_there, "{address}");
            }
        }
    }
}
