//! The sandbox of a user who is not root, which needs a user namespace. Where the tests run as root, the helper is
//! started as another user.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shipagent::domain::{Class, Network};
use shipagent::sandbox::{
    self, CommandEnd, Isolation, MemoryLimiter, MemoryLimits, ResourceLimits, Spec, probe,
};
use tokio::io::AsyncReadExt;

use super::bench::{HELPER, put};

/// The unprivileged user of every Linux.
const NOBODY: u32 = 65_534;

/// A project of that user, and a helper that runs as that user.
struct Foreign {
    dir: tempfile::TempDir,
    helper: PathBuf,
}

impl Foreign {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let root = dir.path().canonicalize().unwrap();
        put(&root.join("project/ship.json"), "{}\n");
        put(&root.join("project/.env"), "secret");
        put(&root.join("project/src/main.rs"), "fn main() {}\n");
        fs::create_dir(root.join("scratch")).unwrap();
        fs::create_dir(root.join("tools")).unwrap();
        symlink("tools", root.join("profile")).unwrap();
        put(&root.join("tools/hello"), "#!/bin/sh\necho hello\n");
        fs::set_permissions(root.join("tools/hello"), Permissions::from_mode(0o755)).unwrap();
        if !rustix::process::geteuid().is_root() {
            return Self { dir, helper: HELPER.into() };
        }
        for path in
            ["project", "project/ship.json", "project/.env", "project/src", "project/src/main.rs", "scratch"]
        {
            chown(root.join(path), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        // In a place that the user can access, independent of the build directory's parents.
        let binary = root.join("shipagent");
        fs::hard_link(HELPER, &binary).or_else(|_| fs::copy(HELPER, &binary).map(drop)).unwrap();
        let helper = root.join("helper");
        let switch = format!("--reuid={NOBODY} --regid={NOBODY} --clear-groups");
        put(&helper, &format!("#!/bin/sh\nexec setpriv {switch} {} \"$@\"\n", binary.display()));
        fs::set_permissions(&helper, Permissions::from_mode(0o755)).unwrap();
        Self { dir, helper }
    }

    fn spec(&self, command: &str, class: Class, sockets: Vec<PathBuf>) -> Spec {
        let root = self.dir.path().canonicalize().unwrap();
        let project = root.join("project");
        Spec {
            command: command.to_owned(),
            isolation: Isolation::Namespaces,
            class,
            network: Network::On,
            cwd: project.clone(),
            scratch: root.join("scratch"),
            hidden: vec![project.join(".env")],
            shown: Vec::new(),
            read_only: vec![project.join("ship.json")],
            readable: vec![root.join("tools")],
            aliases: vec![root.join("profile")],
            sockets,
            project,
            limits: ResourceLimits::default(),
            grace_ms: 100,
        }
    }

    async fn run(&self, spec: &Spec) -> (CommandEnd, String) {
        let environment = [("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())];
        let memory = MemoryLimiter::new(MemoryLimits::on_this_machine(None));
        let mut running = sandbox::start(&self.helper, spec, &environment, &memory).await.unwrap();
        let mut said = String::new();
        let read = async { running.stdout.read_to_string(&mut said).await.unwrap() };
        let told = async {
            let mut complaints = String::new();
            running.stderr.read_to_string(&mut complaints).await.unwrap();
            complaints
        };
        let ended = async { running.end.wait().await.unwrap() };
        let everything = async { tokio::join!(read, told, ended) };
        let (_, complaints, ended) = tokio::time::timeout(Duration::from_secs(60), everything).await.unwrap();
        (ended, said + &complaints)
    }
}

#[tokio::test]
async fn a_user_who_is_not_root_has_the_same_private_view() {
    let foreign = Foreign::new();
    let status = probe(&foreign.helper);
    assert_eq!(status.isolation, Isolation::Namespaces, "{status:?}");
    let root = foreign.dir.path().canonicalize().unwrap();
    let socket = root.join("s");
    let _listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, Permissions::from_mode(0o777)).unwrap();
    let connect = format!(
        "perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die; connect($s, pack_sockaddr_un(\"{}\")) or die $!'",
        socket.display()
    );
    let alias = format!("{}/profile/hello", root.display());
    let outside = root.join("outside");
    for (command, class, sockets, expected) in [
        (connect.as_str(), Class::ProjectWritable, vec![], Err(())),
        (&connect, Class::ProjectWritable, vec![socket.clone()], Ok("")),
        ("cat ship.json", Class::ReadOnly, vec![], Ok("{}\n")),
        ("cat .env", Class::ProjectWritable, vec![], Err(())),
        ("echo x > ship.json", Class::ProjectWritable, vec![], Err(())),
        ("rm -f ship.json", Class::ProjectWritable, vec![], Err(())),
        (
            "echo x > src/new && rm src/new && echo y > new && cat new && rm new",
            Class::ProjectWritable,
            vec![],
            Ok("y\n"),
        ),
        ("echo x > src/new", Class::ReadOnly, vec![], Err(())),
        (&alias, Class::ReadOnly, vec![], Ok("hello\n")),
        ("echo t > /tmp/t && cat /tmp/t && echo s > /dev/shm/s", Class::ProjectWritable, vec![], Ok("t\n")),
        ("echo t > /tmp/t", Class::ReadOnly, vec![], Err(())),
        (&format!("ls {}", root.join("helper").display()), Class::ProjectWritable, vec![], Err(())),
        // Beside the project is the private temporary directory.
        (&format!("echo x > {}", outside.display()), Class::ProjectWritable, vec![], Ok("")),
        (
            "cat /etc/passwd >/dev/null && test -d /run && test ! -e /run/systemd",
            Class::ProjectWritable,
            vec![],
            Ok(""),
        ),
    ] {
        let (ended, said) = foreign.run(&foreign.spec(command, class, sockets)).await;
        match expected {
            Ok(expected) => {
                assert_eq!((ended, said.as_str()), (CommandEnd::Exited(0), expected), "{command}")
            }
            Err(()) => assert_ne!(ended, CommandEnd::Exited(0), "{command}: {said}"),
        }
    }
    assert!(!Path::new("/tmp/t").exists() && !outside.exists());
    assert_eq!(fs::read_to_string(root.join("project/ship.json")).unwrap(), "{}\n");
}
