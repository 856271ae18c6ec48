//! The filter of system calls: what no program that works on a project needs, and what would lead around the rules.

use super::orders;
use crate::{Confinement, Level, Network};
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;
use std::io;

/// The calls by name and number, for the processors that tm knows; on any other none are filtered.
macro_rules! calls {
    ($($name:ident $x86:literal $arm:literal)*) => {
        $(#[cfg(target_arch = "x86_64")]
        const $name: i64 = $x86;
        #[cfg(not(target_arch = "x86_64"))]
        const $name: i64 = $arm;)*
    };
}

calls! {
    SOCKET 41 198
    SOCKETPAIR 53 199
    SENDTO 44 206
    SENDMSG 46 211
    SENDMMSG 307 269
    IOCTL 16 29
    FCNTL 72 25
    CLONE 56 220
    UNSHARE 272 97
    SETNS 308 268
    CLONE3 435 435
    IO_URING_SETUP 425 425
    IO_URING_ENTER 426 426
    IO_URING_REGISTER 427 427
    MOUNT 165 40
    UMOUNT2 166 39
    PIVOT_ROOT 155 41
    OPEN_TREE 428 428
    MOVE_MOUNT 429 429
    FSOPEN 430 430
    FSCONFIG 431 431
    FSMOUNT 432 432
    FSPICK 433 433
    MOUNT_SETATTR 442 442
    BPF 321 280
    PERF_EVENT_OPEN 298 241
    USERFAULTFD 323 282
    ADD_KEY 248 217
    REQUEST_KEY 249 218
    KEYCTL 250 219
    OPEN_BY_HANDLE_AT 304 265
    KEXEC_LOAD 246 104
    KEXEC_FILE_LOAD 320 294
    INIT_MODULE 175 105
    FINIT_MODULE 313 273
    DELETE_MODULE 176 106
    REBOOT 169 142
    SWAPON 167 224
    SWAPOFF 168 225
    ACCT 163 89
    QUOTACTL 179 60
    SYSLOG 103 116
    CLOCK_SETTIME 227 112
    SHMGET 29 194
    SHMAT 30 196
    SHMCTL 31 195
    SEMGET 64 190
    SEMOP 65 193
    SEMTIMEDOP 220 192
    SEMCTL 66 191
    MSGGET 68 186
    MSGSND 69 189
    MSGRCV 70 188
    MSGCTL 71 187
    MQ_OPEN 240 180
    MQ_UNLINK 241 181
    SETXATTR 188 5
    LSETXATTR 189 6
    FSETXATTR 190 7
    SETXATTRAT 463 463
    REMOVEXATTR 197 14
    LREMOVEXATTR 198 15
    FREMOVEXATTR 199 16
    REMOVEXATTRAT 466 466
    OPEN_TREE_ATTR 467 467
    FILE_SETATTR 469 469
    SETPRIORITY 141 140
    IOPRIO_SET 251 30
    SETRLIMIT 160 164
    PRLIMIT 302 261
    SCHED_SETPARAM 142 118
    SCHED_SETSCHEDULER 144 119
    SCHED_SETATTR 314 274
}

/// Refused whatever their arguments are.
const NOT_PERMITTED: [i64; 31] = [
    SETNS,
    MOUNT,
    UMOUNT2,
    PIVOT_ROOT,
    OPEN_TREE,
    OPEN_TREE_ATTR,
    MOVE_MOUNT,
    FSOPEN,
    FSCONFIG,
    FSMOUNT,
    FSPICK,
    MOUNT_SETATTR,
    BPF,
    PERF_EVENT_OPEN,
    USERFAULTFD,
    ADD_KEY,
    REQUEST_KEY,
    KEYCTL,
    OPEN_BY_HANDLE_AT,
    KEXEC_LOAD,
    KEXEC_FILE_LOAD,
    INIT_MODULE,
    FINIT_MODULE,
    DELETE_MODULE,
    REBOOT,
    SWAPON,
    SWAPOFF,
    ACCT,
    QUOTACTL,
    SYSLOG,
    CLOCK_SETTIME,
];
/// As if the kernel were too old for them, so that programs do it the older way, which can be looked at: arguments of the
/// first are behind a pointer, and the others do what other calls do without being them.
const NOT_KNOWN: [i64; 4] = [CLONE3, IO_URING_SETUP, IO_URING_ENTER, IO_URING_REGISTER];

/// What programs of one machine share without a path, as if this system had none of it; in namespaces of its own a program
/// has its own.
const SHARED: [i64; 13] = [
    SHMGET, SHMAT, SHMCTL, SEMGET, SEMOP, SEMTIMEDOP, SEMCTL, MSGGET, MSGSND, MSGRCV, MSGCTL,
    MQ_OPEN, MQ_UNLINK,
];
/// What changes a file beside what is in it, where no rule for paths is asked; as if the file system knew nothing of it.
const BESIDE_CONTENT: [i64; 8] = [
    SETXATTR,
    LSETXATTR,
    FSETXATTR,
    SETXATTRAT,
    REMOVEXATTR,
    LREMOVEXATTR,
    FREMOVEXATTR,
    REMOVEXATTRAT,
];
/// Calls that change a process, with the place of the argument that says which; 0 is whoever calls.
const OF_PROCESSES: [(i64, u8); 6] = [
    (PRLIMIT, 0),
    (SETPRIORITY, 1),
    (IOPRIO_SET, 1),
    (SCHED_SETPARAM, 0),
    (SCHED_SETSCHEDULER, 0),
    (SCHED_SETATTR, 0),
];
/// `PRIO_USER` and `IOPRIO_WHO_USER`: all processes of a user, where 0 is whoever calls.
const OF_USER: [(i64, u64); 2] = [(SETPRIORITY, 2), (IOPRIO_SET, 3)];

/// `RLIMIT_LOCKS`, which is the stamp of a job's processes.
const STAMP: u64 = 10;

/// From here on numbers are those of the x32 interface.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;
/// `CLONE_NEWUSER`.
const NEW_USER: u64 = 0x1000_0000;
/// `TIOCSTI` and `TIOCLINUX`: typing into somebody's terminal.
const TYPING: [u64; 2] = [0x5412, 0x541c];
/// `F_SETLEASE` and `F_SETDELEG`: whoever opens such a file waits for the one who has it, who needs no right to write.
const LEASES: [u64; 2] = [1024, 1040];
const AF_UNIX: u64 = 1;
const AF_INET: u64 = 2;
const AF_NETLINK: u64 = 16;
const AF_INET6: u64 = 10;
/// The part of a socket's type that is no flag, and the one for streams.
const KIND: u64 = 0xf;
const STREAM: u64 = 1;
const SEQUENCED: u64 = 5;
/// The last protocol of streams whose ports rules hold; MPTCP and SCTP come behind it.
const TCP: u64 = 6;
/// Where `MSG_FASTOPEN` stands among the arguments of what sends: a connection that no rule for ports is asked about.
const FAST_OPEN: [(i64, u8); 3] = [(SENDTO, 3), (SENDMSG, 2), (SENDMMSG, 3)];
const MSG_FASTOPEN: u64 = 0x2000_0000;

/// Puts the filters on this process, for good.
pub(super) fn filter(level: Level, confinement: &Confinement) -> io::Result<()> {
    let mut refused = unconditional(&NOT_PERMITTED);
    refused.insert(
        UNSHARE,
        vec![rule(&[(0, Op::MaskedEq(NEW_USER), NEW_USER)])?],
    );
    refused.insert(CLONE, vec![rule(&[(0, Op::MaskedEq(NEW_USER), NEW_USER)])?]);
    let typing = TYPING.map(|order| rule(&[(1, Op::Eq, order)]));
    refused.insert(IOCTL, typing.into_iter().collect::<io::Result<_>>()?);
    apply(refused, Errno::PERM)?;
    apply(unconditional(&NOT_KNOWN), Errno::NOSYS)?;
    apply(of_file_systems(level)?, Errno::OPNOTSUPP)?;
    refuse_other_numbers()?;
    if level != Level::Bwrap {
        among_others()?;
    }
    let has_ports_held = level != Level::Bwrap && confinement.network != Network::On;
    if has_ports_held {
        let sending = FAST_OPEN.map(|(call, flags)| {
            let fast = (flags, Op::MaskedEq(MSG_FASTOPEN), MSG_FASTOPEN);
            Ok((call, vec![rule(&[fast])?]))
        });
        apply(
            sending.into_iter().collect::<io::Result<_>>()?,
            Errno::OPNOTSUPP,
        )?;
    }
    let mut refused = BTreeMap::from([(SOCKET, sockets(level, has_ports_held)?)]);
    if level != Level::Bwrap {
        refused.insert(SOCKETPAIR, pairs()?);
    }
    apply(refused, Errno::AFNOSUPPORT)
}

/// What a file system is told about files, as if it knew nothing of it.
fn of_file_systems(level: Level) -> io::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let orders = orders::to_file_systems().map(|order| rule(&order));
    let mut refused = unconditional(&[FILE_SETATTR]);
    refused.insert(IOCTL, orders.collect::<io::Result<_>>()?);
    let leases = LEASES.map(|order| rule(&[(1, Op::Eq, order)]));
    refused.insert(FCNTL, leases.into_iter().collect::<io::Result<_>>()?);
    if level != Level::Bwrap {
        refused.extend(unconditional(&BESIDE_CONTENT));
    }
    Ok(refused)
}

/// Refuses what reaches others where a program has no namespaces of its own.
fn among_others() -> io::Result<()> {
    apply(unconditional(&SHARED), Errno::NOSYS)?;
    let mut of_others: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for (call, place) in OF_PROCESSES {
        let other = rule(&[(place, Op::Ne, 0)])?;
        of_others.entry(call).or_default().push(other);
    }
    for (call, of_user) in OF_USER {
        let all = rule(&[(0, Op::Eq, of_user)])?;
        of_others.entry(call).or_default().push(all);
    }
    of_others.insert(SETRLIMIT, vec![rule(&[(0, Op::Eq, STAMP)])?]);
    let of_limits = of_others.entry(PRLIMIT).or_default();
    of_limits.push(changing_stamp()?);
    apply(of_others, Errno::PERM)
}

/// Refuses the calls of the x32 interface, where a kernel has that: they do the same by other numbers.
#[cfg(target_arch = "x86_64")]
fn refuse_other_numbers() -> io::Result<()> {
    // Load the number; compare; answer that there is no such call, or go on.
    let program = [
        (0x20, 0, 0, 0),
        (0x35, 0, 1, X32),
        (
            0x06,
            0,
            0,
            0x0005_0000 | Errno::NOSYS.raw_os_error().unsigned_abs(),
        ),
        (0x06, 0, 0, 0x7fff_0000),
    ];
    let program = program.map(|(code, jt, jf, k)| seccompiler::sock_filter { code, jt, jf, k });
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

#[cfg(not(target_arch = "x86_64"))]
fn refuse_other_numbers() -> io::Result<()> {
    Ok(())
}

/// The sockets that are refused: of kinds that no project needs, and those that rules for paths and ports don't hold.
fn sockets(level: Level, has_ports_held: bool) -> io::Result<Vec<SeccompRule>> {
    let mut refused = vec![
        rule(&[(0, Op::Gt, AF_NETLINK)])?,
        rule(&[(0, Op::Gt, AF_INET), (0, Op::Lt, AF_INET6)])?,
        rule(&[(0, Op::Gt, AF_INET6), (0, Op::Lt, AF_NETLINK)])?,
        // How names and addresses are looked up is the first protocol; the others tell of the machine.
        rule(&[(0, Op::Eq, AF_NETLINK), (2, Op::Ne, 0)])?,
    ];
    if level != Level::Bwrap {
        // Whatever listens at a path can be reached by whoever knows it.
        refused.push(rule(&[(0, Op::Eq, AF_UNIX)])?);
        if has_ports_held {
            for family in [AF_INET, AF_INET6] {
                refused.push(rule(&[(0, Op::Eq, family), (2, Op::Gt, TCP)])?);
                refused.push(rule(&[(0, Op::Eq, family), (1, Op::MaskedEq(KIND), 0)])?);
                for kind in STREAM + 1..=KIND {
                    refused.push(rule(&[(0, Op::Eq, family), (1, Op::MaskedEq(KIND), kind)])?);
                }
            }
        }
    }
    Ok(refused)
}

/// The pairs of sockets that are refused: those that are not connected to each other for good reach every path.
fn pairs() -> io::Result<Vec<SeccompRule>> {
    let kinds = (0..=KIND).filter(|kind| ![STREAM, SEQUENCED].contains(kind));
    kinds
        .map(|kind| rule(&[(0, Op::Eq, AF_UNIX), (1, Op::MaskedEq(KIND), kind)]))
        .collect()
}

fn unconditional(calls: &[i64]) -> BTreeMap<i64, Vec<SeccompRule>> {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn rule(conditions: &[(u8, Op, u64)]) -> io::Result<SeccompRule> {
    let conditions = conditions
        .iter()
        .map(|(place, operator, value)| {
            SeccompCondition::new(*place, Len::Dword, operator.clone(), *value)
        })
        .collect::<Result<_, _>>()
        .map_err(io::Error::other)?;
    SeccompRule::new(conditions).map_err(io::Error::other)
}

/// The address of a new limit has two halves; without one the call only reads.
fn changing_stamp() -> io::Result<SeccompRule> {
    let of_stamp = SeccompCondition::new(1, Len::Dword, Op::Eq, STAMP);
    let changes = SeccompCondition::new(2, Len::Qword, Op::Ne, 0);
    of_stamp
        .and_then(|of_stamp| SeccompRule::new(vec![of_stamp, changes?]))
        .map_err(io::Error::other)
}

fn apply(rules: BTreeMap<i64, Vec<SeccompRule>>, answer: Errno) -> io::Result<()> {
    let Ok(processor) = std::env::consts::ARCH.try_into() else {
        return Ok(());
    };
    let answer = SeccompAction::Errno(answer.raw_os_error().unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, processor);
    let program: BpfProgram = filter
        .and_then(TryInto::try_into)
        .map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}
