//! The system calls that a command may not make: those that Landlock cannot restrict, and those that no command needs
//! and many exploits use.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use crate::domain::{Class, Network};
use crate::sandbox::spec::{LocalSockets, Spec};

/// Calls that inspect other processes, change the machine, or expose large and rarely used parts of the kernel.
const NEVER: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Changes of file metadata, which Landlock does not restrict.
const METADATA: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_utimensat,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];

/// Newer calls have the same number on every architecture.
const SYS_FCHMODAT2: i64 = 452;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_FILE_SETATTR: i64 = 469;

#[cfg(target_arch = "x86_64")]
const NEVER_HERE: &[i64] = &[libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_modify_ldt, libc::SYS_uselib];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[i64] = &[];

#[cfg(target_arch = "x86_64")]
const METADATA_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const METADATA_HERE: &[i64] = &[];

/// Insert input into a terminal, or paste into it.
const TERMINAL_IOCTLS: [u64; 2] = [0x5412, 0x541C];
/// Set file flags.
const METADATA_IOCTLS: [u64; 3] = [0x4008_6602, 0x4004_6602, 0x401C_5820];

/// The socket families for the network, for queries about addresses, and for other local programs.
const NETWORK_SOCKETS: &[i32] = &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
const NETWORK_AND_LOCAL_SOCKETS: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The bits of a socket's type that are not flags, and the types that can send to an address other than their peer (the
/// kernel treats `SOCK_RAW` of a local socket as `SOCK_DGRAM`).
const SOCKET_TYPE: u64 = 0xf;
const UNBOUND_TYPES: [i32; 2] = [libc::SOCK_DGRAM, libc::SOCK_RAW];

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Forbids the calls to this process and its descendants.
pub(super) fn enforce(spec: &Spec) -> Result<(), String> {
    let told = |error: seccompiler::Error| format!("seccomp: {error}");
    // The arguments of clone3 cannot be inspected. Programs that get ENOSYS use the older call.
    let newer_clone = SeccompRules::from([(libc::SYS_clone3, Vec::new())]);
    seccompiler::apply_filter(&program(newer_clone, libc::ENOSYS)?).map_err(told)?;
    #[cfg(target_arch = "x86_64")]
    seccompiler::apply_filter(&no_second_table()).map_err(told)?;
    let forbidden = forbidden(spec.class, spec.network, spec.local_sockets())?;
    seccompiler::apply_filter(&program(forbidden, libc::EPERM)?).map_err(told)
}

fn forbidden(class: Class, network: Network, local: LocalSockets) -> Result<SeccompRules, String> {
    let mut rules: SeccompRules = NEVER.iter().chain(NEVER_HERE).map(|call| (*call, Vec::new())).collect();
    // A user namespace would give the command back its dropped capabilities.
    let new_user = u64::try_from(libc::CLONE_NEWUSER).unwrap_or_default();
    rules.insert(libc::SYS_clone, vec![when(0, SeccompCmpOp::MaskedEq(new_user), new_user)?]);
    let mut ioctls = TERMINAL_IOCTLS.to_vec();
    if class == Class::ReadOnly {
        rules.extend(METADATA.iter().chain(METADATA_HERE).map(|call| (*call, Vec::new())));
        ioctls.extend(METADATA_IOCTLS);
    }
    let ioctls: Result<Vec<_>, _> = ioctls.into_iter().map(|code| when(1, SeccompCmpOp::Eq, code)).collect();
    rules.insert(libc::SYS_ioctl, ioctls?);
    let sockets = match (network, local) {
        // No sockets at all: local ones reach daemons with privileges of their own.
        (Network::Off, _) => Vec::new(),
        (Network::On, LocalSockets::Forbidden) => vec![none_of(0, NETWORK_SOCKETS)?],
        (Network::On, LocalSockets::Allowed) => vec![none_of(0, NETWORK_AND_LOCAL_SOCKETS)?],
    };
    if local == LocalSockets::Forbidden {
        let pairs = UNBOUND_TYPES.map(|kind| {
            when(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), u64::try_from(kind).unwrap_or_default())
        });
        rules.insert(libc::SYS_socketpair, pairs.into_iter().collect::<Result<_, _>>()?);
    }
    rules.insert(libc::SYS_socket, sockets);
    Ok(rules)
}

fn when(argument: u8, compare: SeccompCmpOp, value: u64) -> Result<SeccompRule, String> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, value);
    condition
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(|error| format!("seccomp: {error}"))
}

fn none_of(argument: u8, values: &[i32]) -> Result<SeccompRule, String> {
    let differs = |value: &i32| {
        let value = u64::try_from(*value).unwrap_or_default();
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
    };
    let conditions: Result<Vec<_>, _> = values.iter().map(differs).collect();
    conditions.and_then(SeccompRule::new).map_err(|error| format!("seccomp: {error}"))
}

fn program(rules: SeccompRules, errno: i32) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| format!("seccomp: {error}"))?;
    let refuse = SeccompAction::Errno(u32::try_from(errno).unwrap_or(1));
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)
        .and_then(BpfProgram::try_from)
        .map_err(|error| format!("seccomp: {error}"))
}

/// This architecture has a second system call table, with numbers from a certain bit up, which would circumvent a list
/// of forbidden numbers. No program needs it.
#[cfg(target_arch = "x86_64")]
fn no_second_table() -> BpfProgram {
    const SECOND_TABLE: u32 = 0x4000_0000;
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const NO_SUCH_CALL: u32 = 0x0005_0000 | 38;
    const ALLOW: u32 = 0x7fff_0000;
    [(LOAD_NUMBER, 0, 0), (JUMP_IF_AT_LEAST, 1, SECOND_TABLE), (RETURN, 0, NO_SUCH_CALL), (RETURN, 0, ALLOW)]
        .map(|(code, jf, k)| seccompiler::sock_filter { code, jt: 0, jf, k })
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_makes_a_program() {
        let kinds = [
            (Network::Off, LocalSockets::Forbidden),
            (Network::On, LocalSockets::Forbidden),
            (Network::On, LocalSockets::Allowed),
        ];
        for class in [Class::ReadOnly, Class::ProjectWritable] {
            for (network, local) in kinds {
                let rules = forbidden(class, network, local).unwrap();
                assert_eq!(rules[&libc::SYS_socket].is_empty(), network == Network::Off);
                assert_eq!(rules.contains_key(&libc::SYS_socketpair), local == LocalSockets::Forbidden);
                assert_eq!(rules.contains_key(&libc::SYS_fchmodat), class == Class::ReadOnly);
                assert!(!program(rules, libc::EPERM).unwrap().is_empty());
            }
        }
    }
}
