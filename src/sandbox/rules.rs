//! The paths that a command may use and how, as data. Lists folders but opens no file.

use std::fs;
use std::path::{Path, PathBuf};

use super::spec::{Isolation, Spec};
use crate::domain::Class;

/// The access to a path and everything beneath it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathAccess {
    List,
    /// Read, list and execute.
    Read,
    /// Everything except creating devices.
    Write,
    /// Read from and write to a device.
    Device,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathRule {
    /// A file or folder; never a link.
    pub(super) path: PathBuf,
    pub(super) access: PathAccess,
}

impl PathRule {
    pub(super) fn is_write(&self) -> bool {
        self.access == PathAccess::Write
    }
}

/// Programs, libraries and their data. `/etc` has rules of its own.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/var/lib/dpkg",
    "/var/lib/rpm",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];

/// Secret files in `/etc`, readable when the daemon runs as root.
const SECRETS_OF_ETC: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/NetworkManager",
    "/etc/netplan",
    "/etc/wpa_supplicant",
    "/etc/docker",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/shipagent",
];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The configuration of the DNS resolver; often a link into `/run`.
const RESOLVER: &str = "/etc/resolv.conf";

/// Where programs that ignore `TMPDIR` put temporary files. In a mount namespace each command has its own.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// Directories with files and sockets of many programs. A `PATH` entry with one of them does not allow everything in
/// it.
const SHARED: &[&str] =
    &["/", "/dev", "/home", "/root", "/run", "/tmp", "/var", "/var/run", "/var/tmp", "/dev/shm"];

/// Facts about the machine that reveal nothing about other processes.
const FACTS_OF_PROC: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
];

/// The rules for a command; everything else is forbidden. Call this after the mounts are in place.
pub(super) fn grants(spec: &Spec) -> Vec<PathRule> {
    let mut rules = AccessRules(lasting(spec));
    let secrets: Vec<PathBuf> = SECRETS_OF_ETC.iter().map(PathBuf::from).collect();
    rules.allow_around(Path::new("/etc"), &secrets, PathAccess::Read);
    for path in DEVICES {
        rules.allow(Path::new(path), PathAccess::Device);
    }
    match (spec.isolation, spec.class) {
        // `/proc` shows only the command's own processes, and the temporary directories are private.
        (Isolation::Namespaces, Class::ProjectWritable) => {
            rules.allow(Path::new("/proc"), PathAccess::Read);
            temporary_directories().iter().for_each(|path| rules.allow(path, PathAccess::Write));
        }
        (Isolation::Namespaces, Class::ReadOnly) => rules.allow(Path::new("/proc"), PathAccess::Read),
        (Isolation::Rules | Isolation::Nothing, _) => {
            FACTS_OF_PROC.iter().for_each(|path| rules.allow(Path::new(path), PathAccess::Read));
        }
    }
    rules.0
}

/// The directories for temporary files on this machine, links resolved.
pub(super) fn temporary_directories() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        TEMPORARY.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    found
}

/// The rules about files that existed before the command: programs, the project, its scratch folder. They stay visible
/// when the rest of the machine is covered.
pub(super) fn lasting(spec: &Spec) -> Vec<PathRule> {
    let mut rules = AccessRules::default();
    for path in SYSTEM {
        rules.allow(Path::new(path), PathAccess::Read);
    }
    if let Ok(resolver) = Path::new(RESOLVER).canonicalize() {
        rules.allow(&resolver, PathAccess::Read);
    }
    let is_shared = |path: &Path| SHARED.iter().any(|shared| Path::new(shared) == path);
    for path in spec.readable.iter().filter(|path| !is_shared(path)) {
        rules.allow(path, PathAccess::Read);
    }
    let access = match spec.class {
        Class::ReadOnly => PathAccess::Read,
        Class::ProjectWritable => PathAccess::Write,
    };
    match spec.isolation {
        // Hidden paths are covered by mounts, and read-only ones are mounted read-only.
        Isolation::Namespaces => rules.allow(&spec.project, access),
        Isolation::Rules | Isolation::Nothing => {
            let kept: Vec<PathBuf> = spec.hidden.iter().chain(&spec.read_only).cloned().collect();
            rules.allow_around(&spec.project, &kept, access);
            spec.shown.iter().chain(&spec.read_only).for_each(|path| rules.allow(path, PathAccess::Read));
        }
    }
    rules.allow(&spec.scratch, access);
    rules.0
}

#[derive(Debug, Default)]
struct AccessRules(Vec<PathRule>);

impl AccessRules {
    /// Allows a path. A rule would follow a link, so links get none: the target has its own rule, or is not accessible.
    fn allow(&mut self, path: &Path, access: PathAccess) {
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink()) {
            self.0.push(PathRule { path: path.to_owned(), access });
        }
    }

    /// Allows a folder without some paths beneath it. Rules can only add access, so each folder on the way to a hidden
    /// path can be listed, and its other entries are allowed one by one.
    fn allow_around(&mut self, path: &Path, hidden: &[PathBuf], access: PathAccess) {
        if hidden.iter().any(|place| place == path) {
            return;
        }
        if !hidden.iter().any(|place| place.starts_with(path)) {
            return self.allow(path, access);
        }
        self.allow(path, PathAccess::List);
        let Ok(entries) = fs::read_dir(path) else { return };
        for entry in entries.flatten() {
            self.allow_around(&entry.path(), hidden, access);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::domain::Network;
    use crate::sandbox::ResourceLimits;

    fn spec(project: &Path, isolation: Isolation, class: Class) -> Spec {
        Spec {
            command: "true".to_owned(),
            isolation,
            class,
            network: Network::Off,
            project: project.to_owned(),
            cwd: project.to_owned(),
            scratch: project.join("../nowhere"),
            hidden: vec![project.join(".env"), project.join("api/.env")],
            shown: Vec::new(),
            read_only: vec![project.join("ship.json")],
            readable: Vec::new(),
            aliases: Vec::new(),
            sockets: Vec::new(),
            limits: ResourceLimits::default(),
            grace_ms: 0,
        }
    }

    fn project() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("api/src")).unwrap();
        fs::create_dir(root.join("web")).unwrap();
        for file in [".env", "api/.env", "api/main.py", "README.md", "ship.json"] {
            fs::File::create(root.join(file)).unwrap();
        }
        symlink("/root", root.join("out")).unwrap();
        symlink(".env", root.join("alias")).unwrap();
        (dir, root)
    }

    fn inside(grants: &[PathRule], root: &Path) -> Vec<(String, PathAccess)> {
        let mut inside: Vec<_> = grants
            .iter()
            .filter_map(|grant| {
                let relative = grant.path.strip_prefix(root).ok()?;
                Some((relative.to_string_lossy().into_owned(), grant.access))
            })
            .collect();
        inside.sort_by(|one, other| one.0.cmp(&other.0));
        inside
    }

    #[test]
    fn a_folder_with_something_hidden_is_taken_apart_and_links_get_no_rule() {
        let (_dir, root) = project();
        let grants = grants(&spec(&root, Isolation::Rules, Class::ProjectWritable));
        let expected = [
            ("", PathAccess::List),
            ("README.md", PathAccess::Write),
            ("api", PathAccess::List),
            ("api/main.py", PathAccess::Write),
            ("api/src", PathAccess::Write),
            ("ship.json", PathAccess::Read),
            ("web", PathAccess::Write),
        ];
        assert_eq!(inside(&grants, &root), expected.map(|(path, access)| (path.to_owned(), access)));
    }

    #[test]
    fn where_mounts_cover_what_is_hidden_the_project_is_one_rule() {
        let (_dir, root) = project();
        for (class, access) in
            [(Class::ReadOnly, PathAccess::Read), (Class::ProjectWritable, PathAccess::Write)]
        {
            let grants = grants(&spec(&root, Isolation::Namespaces, class));
            assert_eq!(inside(&grants, &root), [(String::new(), access)]);
        }
    }

    #[test]
    fn a_read_only_command_may_write_to_devices_alone() {
        let (_dir, root) = project();
        for isolation in [Isolation::Namespaces, Isolation::Rules] {
            for grant in grants(&spec(&root, isolation, Class::ReadOnly)) {
                assert_ne!(grant.access, PathAccess::Write, "{grant:?}");
                assert_eq!(grant.access == PathAccess::Device, grant.path.starts_with("/dev"), "{grant:?}");
            }
        }
    }

    #[test]
    fn a_directory_of_many_programs_is_not_readable_because_path_names_it() {
        let (_dir, root) = project();
        let mut spec = spec(&root, Isolation::Namespaces, Class::ProjectWritable);
        spec.readable = SHARED.iter().map(PathBuf::from).chain([root.join("web")]).collect();
        let readable: Vec<PathBuf> = lasting(&spec).into_iter().map(|grant| grant.path).collect();
        assert!(readable.contains(&root.join("web")));
        assert!(!SHARED.iter().any(|shared| readable.contains(&PathBuf::from(shared))), "{readable:?}");
    }

    #[test]
    fn secrets_of_the_system_have_no_rule() {
        let (_dir, root) = project();
        for grant in grants(&spec(&root, Isolation::Rules, Class::ProjectWritable)) {
            let secret = SECRETS_OF_ETC.iter().any(|secret| grant.path.starts_with(secret));
            let above = SECRETS_OF_ETC.iter().any(|secret| Path::new(secret).starts_with(&grant.path));
            assert!(!secret && (!above || grant.access == PathAccess::List), "{grant:?}");
        }
    }
}
