//! What programs print where the system refuses them something, in small letters, by what they were refused.

/// What a program is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Refused {
    /// A path, which its words name.
    Path,
    /// A host, which its words name.
    Host,
    /// The network, whether a host is named or not.
    Network,
    /// A further process or thread.
    Process,
    /// Memory.
    Memory,
    /// A file as large as this.
    FileSize,
    /// A call that would lead out.
    Call,
}

/// Words that stand in one line; those with `…` have to stand there in this order.
pub(super) const WORDS: [(Refused, &[&str]); 7] = [
    (
        Refused::Call,
        &[
            "unshare…operation not permitted",
            "namespace…operation not permitted",
            "ptrace…operation not permitted",
            "mount…must be superuser",
            "kill…operation not permitted",
        ],
    ),
    (
        Refused::Process,
        &[
            "cannot fork",
            "can't fork",
            "unable to fork",
            "fork…resource temporarily unavailable",
            "spawn…resource temporarily unavailable",
            "thread…resource temporarily unavailable",
            "spawn…eagain",
            "blockingioerror: [errno 11]",
            "can't start new thread",
            "thread failed to start",
            "failed to spawn thread",
            "failed to create new os thread",
            "unable to create native thread",
            "uv_thread_create",
        ],
    ),
    (
        Refused::Memory,
        &[
            "memoryerror",
            "enomem",
            "cannot allocate memory",
            "heap out of memory",
            "array buffer allocation failed",
            "memory allocation of…failed",
            "bad_alloc",
            "memory exhausted",
            "outofmemoryerror",
            "runtime: out of memory",
            "out of memory, malloc failed",
        ],
    ),
    (
        Refused::FileSize,
        &[
            "efbig",
            "file too large",
            "file size limit exceeded",
            "filesize limit exceeded",
        ],
    ),
    (
        Refused::Network,
        &[
            "could not resolve host",
            "temporary failure in name resolution",
            "temporary failure resolving",
            "name or service not known",
            "nodename nor servname",
            "failed to lookup address",
            "unable to resolve host",
            "unknownhostexception",
            "getaddrinfo eai_again",
            "getaddrinfo enotfound",
            "network is unreachable",
            "enetunreach",
            "address family not supported",
            "eafnosupport",
        ],
    ),
    (
        Refused::Host,
        &[
            "failed to connect to",
            "couldn't connect to server",
            "dial tcp: lookup",
            "dial tcp…connection refused",
            "connect eacces",
            "connect eperm",
            "connect…permission denied",
        ],
    ),
    (
        Refused::Path,
        &[
            "read-only file system",
            "permission denied",
            "operation not permitted",
            "accessdeniedexception",
            "no such file or directory",
        ],
    ),
];

/// Words of programs that were about to change what they name.
pub(super) const CHANGING: [&str; 9] = [
    "read-only file system",
    "create",
    "write",
    "touch",
    "remove",
    "mkdir",
    "unlink",
    "append",
    "rename",
];
/// Words of programs that find nothing where something is hidden.
pub(super) const NOT_FOUND: &str = "no such file or directory";

/// What stands before a host.
pub(super) const BEFORE_HOST: [&str; 14] = [
    "://",
    "host: ",
    "host ",
    "hostname ",
    "resolving '",
    "host='",
    "eai_again ",
    "enotfound ",
    "enetunreach ",
    "eacces ",
    "eperm ",
    "lookup ",
    "connect to ",
    "exception: ",
];

/// Tells whether a line in small letters has some words.
pub(super) fn has(line: &str, words: &str) -> bool {
    let mut rest = line;
    words.split('…').all(|part| {
        let found = rest.split_once(part);
        rest = found.map_or("", |(_, after)| after);
        found.is_some()
    })
}
