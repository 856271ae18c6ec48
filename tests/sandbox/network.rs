//! What a held program reaches of the network: whom the list names, by a proxy that may be gone for a while, and nobody
//! else.

use crate::scene::tm_binary;
use crate::skipping::lacks_what_a_machine_may_have;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tm_executors::proxy::{AllowList, Proxy};
use tm_sandbox::{Access, Confinement, Layers, Level, Limits, Sandbox, View, Wanted, find, line};
use tokio::runtime::Runtime;

/// Asks for what each line says, `HOST/PORT REQUEST`, and says the first line of the answer.
const ASKING: &str = r#"
trap '' PIPE
told=${HTTP_PROXY#http://}
credentials=$(printf %s "${told%@*}" | base64 -w0)
while read -r place request; do
    answer=unreached
    if { exec 3<>"/dev/tcp/$place"; } 2>/dev/null; then
        printf '%s HTTP/1.1\r\nProxy-Authorization: Basic %s\r\n\r\n' "$request" "$credentials" >&3 2>/dev/null
        IFS= read -r answer <&3 2>/dev/null || answer=closed
        exec 3>&-
    fi
    printf '%s\n' "${answer%$'\r'}"
done
"#;

/// A program that is held and asks.
struct Asking {
    program: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    mark: String,
    port: u16,
}

/// Somebody's server, at a port that the system gives to nobody who asks for any.
fn server() -> u16 {
    let at = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok();
    let listener = std::iter::repeat_with(|| fastrand::u16(20_000..30_000))
        .find_map(at)
        .expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.expect("a client");
            let heard = BufReader::new(&client).lines().map_while(Result::ok);
            heard.take_while(|line| !line.is_empty()).for_each(drop);
            let _told = (&client).write_all(b"HTTP/1.0 200 served\r\n\r\n");
        }
    });
    port
}

/// A proxy as one tm has it, which is gone at once when this is dropped, as that tm would be.
struct Served {
    proxy: Proxy,
    _tm: Runtime,
}

fn serve(level: Level, listed: u16, folder: &Path) -> Served {
    let tm = Runtime::new().expect("a runtime");
    let listed = format!("localhost:{listed}");
    let allowed = AllowList::read([listed.as_str()]).expect("a host");
    let started = tm.block_on(Proxy::start(level, allowed, "`hosts` opens it", folder));
    Served {
        proxy: started.expect("it listens"),
        _tm: tm,
    }
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
impl Asking {
    /// Starts it; none where the machine has no such level.
    fn start(level: Level, proxy: &Proxy, own_folder: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(own_folder.join("tmp")).expect("a folder");
        let mut view = View::of_system();
        view.add(&own_folder, Access::Write);
        let confinement = Confinement {
            layers: Layers::Gone,
            view,
            working_folder: "/".into(),
            own_folder,
            network: proxy.network(),
            limits: Limits::default(),
        };
        let tm_program = tm_binary();
        let found = find(Wanted::Exactly(level), &confinement, &tm_program);
        if found.level.is_none() {
            let why: Vec<String> = found
                .refused
                .iter()
                .map(|refused| refused.why.clone())
                .collect();
            lacks_what_a_machine_may_have(&format!("{level} here: {}", why.join("; ")));
            return None;
        }
        let sandbox = Sandbox {
            group: None,
            stamp: None,
            level,
            confinement,
            tm_program,
        };
        let command = ["bash", "-c", ASKING].map(Into::into).to_vec();
        let line = line(&sandbox, command, None).expect("a line");
        let variables = proxy.variables();
        let (_, address) = variables.first().expect("an address");
        let port = address
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        let mark = format!("{}-{}", std::process::id(), fastrand::u64(..));
        let mut program = Command::new(&line[0])
            .args(&line[1..])
            .envs(variables)
            .env("TM_TEST_MARK", &mark)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        Some(Self {
            orders: program.stdin.take().expect("piped"),
            answers: BufReader::new(program.stdout.take().expect("piped")),
            program,
            mark,
            port: port.expect("a port"),
        })
    }

    fn ask(&mut self, place: &str, request: &str) -> String {
        writeln!(self.orders, "{place} {request}").expect("it reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it answers");
        answer.trim_end().to_owned()
    }

    /// Asks the proxy for a connection with a port of the machine.
    fn connect(&mut self, port: u16) -> String {
        let proxy = format!("127.0.0.1/{}", self.port);
        self.ask(&proxy, &format!("CONNECT localhost:{port}"))
    }

    /// Asks a server of the machine itself.
    fn directly(&mut self, port: u16) -> String {
        self.ask(&format!("127.0.0.1/{port}"), "GET /")
    }

    /// Ends it; whatever was beside it ends then too.
    fn end(mut self) {
        drop(self.orders);
        assert!(self.program.wait().expect("waited for").success());
        let begun = Instant::now();
        while is_any_marked(&self.mark) {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "the bridge goes on"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn is_any_marked(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("listed").flatten();
    let environments =
        processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok());
    let marked = format!("TM_TEST_MARK={mark}\0");
    environments.into_iter().any(|environment| {
        environment
            .windows(marked.len())
            .any(|part| part == marked.as_bytes())
    })
}

#[test]
fn whom_the_list_names_is_reached_through_the_proxy_and_nobody_else_is() {
    for level in [Level::Bwrap, Level::Landlock] {
        let (folder, own) = (
            TempDir::new().expect("a folder"),
            TempDir::new().expect("a folder"),
        );
        let (listed, other) = (server(), server());
        let Served { proxy, _tm } = serve(level, listed, folder.path());
        let Some(mut asking) = Asking::start(level, &proxy, own.path().to_owned()) else {
            continue;
        };
        assert_eq!(
            asking.connect(listed),
            "HTTP/1.1 200 Connection established",
            "{level}"
        );
        assert_eq!(asking.directly(listed), "HTTP/1.0 200 served", "{level}");
        assert_eq!(asking.connect(other), "HTTP/1.1 403 Forbidden", "{level}");
        assert_eq!(asking.directly(other), "unreached", "{level}");
        let unasked = asking.ask("wanted.example.org/443", "GET /");
        assert_eq!(unasked, "unreached", "{level}");
        assert_eq!(proxy.refused(), [format!("localhost:{other}")], "{level}");
        asking.end();
    }
}

#[test]
fn a_program_goes_on_with_the_proxy_of_a_tm_that_comes_after() {
    for level in [Level::Bwrap, Level::Landlock] {
        let (folder, own) = (
            TempDir::new().expect("a folder"),
            TempDir::new().expect("a folder"),
        );
        let (listed, other) = (server(), server());
        let first = serve(level, listed, folder.path());
        let Some(mut asking) = Asking::start(level, &first.proxy, own.path().to_owned()) else {
            continue;
        };
        assert_eq!(asking.connect(other), "HTTP/1.1 403 Forbidden", "{level}");
        drop(first);
        let meanwhile = asking.connect(listed);
        assert!(
            matches!(meanwhile.as_str(), "unreached" | "closed"),
            "{level}: {meanwhile}"
        );
        let second = serve(level, listed, folder.path());
        assert_eq!(
            asking.connect(listed),
            "HTTP/1.1 200 Connection established",
            "{level}"
        );
        assert_eq!(
            second.proxy.refused(),
            [format!("localhost:{other}")],
            "{level}"
        );
        asking.end();
    }
}
