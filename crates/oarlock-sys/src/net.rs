//! The network devices of this machine.

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// The network devices that have an address, with each address: a device with two is listed twice.
pub fn network_devices() -> io::Result<Vec<(String, IpAddr)>> {
    let mut first: *mut libc::ifaddrs = ptr::null_mut();
    // SAFETY: the call fills `first` with a list that it allocates, or fails.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut devices = Vec::new();
    let mut next = first;
    // SAFETY: `next` is null or an entry of the list, which lives until `freeifaddrs` below.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: an entry's address is null or points to an address of the kind it says it is.
        if let Some(address) = unsafe { ip_of(entry.ifa_addr) } {
            // SAFETY: an entry's name is a string that ends with a zero and lives as long as the list.
            let name = unsafe { CStr::from_ptr(entry.ifa_name) };
            devices.push((name.to_string_lossy().into_owned(), address));
        }
        next = entry.ifa_next;
    }
    // SAFETY: the list came from `getifaddrs` and nothing refers to it any more: names and addresses were copied.
    unsafe { libc::freeifaddrs(first) };
    Ok(devices)
}

/// The address, if it is one of IP.
///
/// # Safety
/// `address` is null or points to a socket address of the kind that its family says.
unsafe fn ip_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: null or valid, says the caller.
    let family = unsafe { address.as_ref() }?.sa_family;
    match i32::from(family) {
        libc::AF_INET => {
            // SAFETY: the family says that it is an IPv4 address; the copy needs no alignment.
            let v4 = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that it is an IPv6 address; the copy needs no alignment.
            let v6 = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_is_found() {
        let devices = network_devices().unwrap();
        assert!(devices.iter().any(|(_, address)| *address == IpAddr::V4(Ipv4Addr::LOCALHOST)), "{devices:?}");
    }

    #[test]
    fn every_device_has_a_name() {
        assert!(network_devices().unwrap().iter().all(|(name, _)| !name.is_empty()));
    }

    #[test]
    fn addresses_of_other_families_are_left_out() {
        // SAFETY: a socket address of all zeros is a valid one, of no family.
        let mut address: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
        // SAFETY: null, or an address whose family says what it is.
        unsafe {
            assert_eq!(ip_of(ptr::null()), None);
            assert_eq!(ip_of((&raw const address).cast()), None);
            address.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            address.sin6_addr.s6_addr[15] = 1;
            assert_eq!(ip_of((&raw const address).cast()), Some(IpAddr::V6(Ipv6Addr::LOCALHOST)));
        }
    }
}
