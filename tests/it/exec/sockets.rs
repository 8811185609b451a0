//! Sockets of other programs cannot be reached unless they are listed: real tmux and ssh-agent servers, and listeners
//! in every directory where programs put their sockets.

use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shipagent::domain::{Class, Permit};
use shipagent::sandbox::Isolation;

use super::bench::{Bench, unheard_of};
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply};

/// The permit of an approved command.
const APPROVED: Permit = Permit::of(Class::ProjectWritable);

/// A folder for one test's sockets; short, because the path of a socket is limited to about a hundred characters.
fn folder_in(parent: &str) -> tempfile::TempDir {
    tempfile::Builder::new().prefix("sock-").tempdir_in(parent).unwrap()
}

/// Waits until a server has created its socket.
fn until_there(socket: &Path) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !socket.exists() {
        assert!(Instant::now() < patience, "{}", socket.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A tmux server with a session. It ends when dropped.
struct Tmux(PathBuf);

impl Tmux {
    fn start(socket: PathBuf) -> Self {
        let server = Self(socket);
        let started =
            server.command(&["-f", "/dev/null", "new-session", "-d", "sleep 600"]).status().unwrap();
        assert!(started.success(), "tmux cannot be started");
        until_there(&server.0);
        server
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.0).args(arguments).stdin(Stdio::null()).env_remove("TMUX");
        command
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        drop(self.command(&["kill-server"]).output());
    }
}

/// An ssh-agent. It ends when dropped.
struct SshAgent(Child);

impl SshAgent {
    fn start(socket: &Path) -> Self {
        let mut command = Command::new("ssh-agent");
        let command = command.arg("-D").arg("-a").arg(socket).stdin(Stdio::null()).stdout(Stdio::null());
        let agent = Self(command.spawn().expect("ssh-agent"));
        until_there(socket);
        agent
    }
}

impl Drop for SshAgent {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Connects to a socket by its path; `@` stands for an abstract one.
fn connects_to(path: &str) -> String {
    format!(
        "perl -MSocket -e 'my $p = shift; $p =~ s/^@/\\0/; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die \"socket: $!\\n\"; \
         connect($s, pack_sockaddr_un($p)) or die \"connect: $!\\n\"; print \"connected\"' '{path}'"
    )
}

#[tokio::test]
async fn tmux_runs_nothing_for_a_command_unless_its_socket_is_listed() {
    for mut bench in Bench::each() {
        let folder = folder_in("/tmp");
        let tmux = Tmux::start(folder.path().join("default"));
        let proof = bench.outside.join("proof");
        let command = format!(
            "tmux -S {} new-window 'touch {}; tmux -S {} wait-for -S {name}' && tmux -S {} wait-for {name}",
            tmux.0.display(),
            proof.display(),
            tmux.0.display(),
            tmux.0.display(),
            name = unheard_of(),
        );
        for permit in [Permit::UNASKED, APPROVED] {
            let outcome = bench.run(permit, &command).await;
            assert_ne!(outcome["exitCode"], 0, "{:?}: {outcome}", bench.isolation);
            assert!(!proof.exists(), "{:?}: {outcome}", bench.isolation);
        }
        bench.sockets = vec![tmux.0.clone()];
        let outcome = bench.run(Permit::UNASKED, &command).await;
        assert!(!proof.exists(), "nobody was asked: {:?}: {outcome}", bench.isolation);
        let outcome = bench.run(APPROVED, &command).await;
        assert_eq!(outcome["exitCode"], 0, "{:?}: {outcome}", bench.isolation);
        assert!(proof.exists(), "{:?}", bench.isolation);
    }
}

#[tokio::test]
async fn ssh_agent_lends_no_key_to_a_command_unless_its_socket_is_listed() {
    for mut bench in Bench::each() {
        let folder = folder_in("/tmp");
        let socket = folder.path().join("agent.1");
        let _agent = SshAgent::start(&socket);
        // 2: the agent cannot be reached; 1: it has no keys.
        let command = format!("SSH_AUTH_SOCK={} ssh-add -l", socket.display());
        let outcome = bench.run(APPROVED, &command).await;
        assert_eq!(outcome["exitCode"], 2, "{:?}: {outcome}", bench.isolation);
        bench.sockets = vec![socket];
        let outcome = bench.run(APPROVED, &command).await;
        assert_eq!(outcome["exitCode"], 1, "{:?}: {outcome}", bench.isolation);
    }
}

#[tokio::test]
async fn no_listener_outside_of_the_project_can_be_reached() {
    let home = std::env::home_dir().unwrap();
    let parents = ["/tmp", "/var/tmp", "/dev/shm", "/run", home.to_str().unwrap()];
    // Only root may make files in `/run`.
    let parents =
        parents.into_iter().filter(|parent| *parent != "/run" || rustix::process::geteuid().is_root());
    let folders: Vec<tempfile::TempDir> = parents.map(folder_in).collect();
    let mut listeners = Vec::new();
    let mut paths: Vec<String> = Vec::new();
    for folder in &folders {
        let path = folder.path().join("s");
        listeners.push(UnixListener::bind(&path).unwrap());
        paths.push(path.to_string_lossy().into_owned());
    }
    let name = format!("shipagent-{}", unheard_of());
    listeners.push(UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap());
    for mut bench in Bench::each() {
        for path in paths.iter().chain([&format!("@{name}")]) {
            let outcome = bench.run(APPROVED, &connects_to(path)).await;
            assert_ne!(outcome["exitCode"], 0, "{:?}: {path}: {outcome}", bench.isolation);
        }
        let through_proc = format!("/proc/1/root{}", paths[0]);
        let outcome = bench.run(APPROVED, &connects_to(&through_proc)).await;
        assert_ne!(outcome["exitCode"], 0, "{:?}: {outcome}", bench.isolation);
        for path in &paths {
            bench.sockets = vec![PathBuf::from(path)];
            let outcome = bench.run(APPROVED, &connects_to(path)).await;
            assert_eq!(outcome["stdout"], "connected", "{:?}: {path}: {outcome}", bench.isolation);
        }
        // A folder allows all sockets in it.
        bench.sockets = vec![folders[0].path().to_owned()];
        let outcome = bench.run(APPROVED, &connects_to(&paths[0])).await;
        assert_eq!(outcome["stdout"], "connected", "{:?}: {outcome}", bench.isolation);
        if bench.isolation == Isolation::Namespaces {
            let outcome = bench.run(APPROVED, &connects_to(&paths[1])).await;
            assert_ne!(outcome["exitCode"], 0, "that of another: {outcome}");
        }
    }
}

#[tokio::test]
async fn a_datagram_reaches_no_socket_from_a_pair_either() {
    let folder = folder_in("/tmp");
    let path = folder.path().join("log");
    let log = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    log.set_nonblocking(true).unwrap();
    let command = format!(
        "perl -MSocket -e 'for my $type (SOCK_DGRAM, SOCK_RAW) {{ socketpair(my $a, my $b, AF_UNIX, $type, 0) or next; \
         send($a, \"sent\", 0, pack_sockaddr_un(\"{}\")) }}'",
        path.display()
    );
    for bench in Bench::each() {
        for permit in [Permit::UNASKED, APPROVED] {
            let outcome = bench.run(permit, &command).await;
            assert!(log.recv(&mut [0; 8]).is_err(), "{:?} {permit:?}: {outcome}", bench.isolation);
        }
    }
}

#[tokio::test]
async fn a_socket_of_the_project_works_where_there_is_a_mount_namespace() {
    let bench = Bench::each().remove(0);
    assert_eq!(bench.isolation, Isolation::Namespaces);
    let _listener = UnixListener::bind(bench.root.join("db")).unwrap();
    let outcome = bench.run(APPROVED, &connects_to("db")).await;
    assert_eq!(outcome["stdout"], "connected", "{outcome}");
    let own = "perl -MIO::Socket::UNIX -e 'my $l = IO::Socket::UNIX->new(Local => \"/tmp/own\", Listen => 1) or die $!; \
               IO::Socket::UNIX->new(Peer => \"/tmp/own\") or die $!; print \"connected\"'";
    let outcome = bench.run(APPROVED, own).await;
    assert_eq!(outcome["stdout"], "connected", "{outcome}");
    assert!(!Path::new("/tmp/own").exists());
}

#[tokio::test]
async fn temporary_directories_are_private_bounded_and_gone_with_the_command() {
    let bench = Bench::each().remove(0);
    assert_eq!(bench.isolation, Isolation::Namespaces);
    let other = folder_in("/tmp");
    for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
        let name = format!("{folder}/{}", unheard_of());
        let command = format!("echo kept > {name} && cat {name} && test ! -e {}", other.path().display());
        let outcome = bench.run(APPROVED, &command).await;
        assert_eq!((&outcome["stdout"], &outcome["exitCode"]), (&json!("kept\n"), &json!(0)), "{outcome}");
        assert!(!Path::new(&name).exists(), "{name}");
        let outcome = bench.run(APPROVED, &format!("head -c 600000000 /dev/zero > {name}")).await;
        assert_ne!(outcome["exitCode"], 0, "there is no room: {outcome}");
        let outcome = bench.run(Permit::UNASKED, &format!("echo x > {name}")).await;
        assert_ne!(outcome["exitCode"], 0, "nobody was asked: {outcome}");
    }
    let outcome = bench.run(APPROVED, "test -d /var/run/ && test /var/run/ -ef /run && echo linked").await;
    assert_eq!(outcome["stdout"], "linked\n", "{outcome}");
}

async fn asked(project: &Project) -> Value {
    let daemon = project.start().await;
    let answer = daemon.execute(json!({ "instructions": "try", "chatId": "a" })).await;
    answer["toolCalls"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_keeps_its_commands_from_tmux_and_ssh_agent() {
    let folder = folder_in("/tmp");
    let tmux = Tmux::start(folder.path().join("tmux"));
    let agent_socket = folder.path().join("agent");
    let _agent = SshAgent::start(&agent_socket);
    let list = format!("tmux -S {} list-sessions", tmux.0.display());
    let keys = format!("SSH_AUTH_SOCK={} ssh-add -l", agent_socket.display());
    for (sockets, expected) in [(json!([]), [1, 2]), (json!([folder.path()]), [0, 1])] {
        let calls =
            || [("exec_shell", json!({ "command": list })), ("exec_shell", json!({ "command": keys }))];
        let model = FakeModel::start([Reply::calls(calls()), Reply::text("Tried.")]).await;
        let permissions =
            json!({ "exec_shell": { "mode": "allow", "compound": "analyze", "sockets": sockets } });
        let project = Project::with_model(
            &model.url(),
            json!({ "queue": { "mergeMs": 0 }, "permissions": permissions }),
        );
        let calls = asked(&project).await;
        let codes = [0, 1].map(|call: usize| calls[call]["output"]["exitCode"].as_i64());
        assert_eq!(codes, expected.map(Some), "{sockets}: {calls}");
        fs::metadata(&tmux.0).unwrap();
    }
}
