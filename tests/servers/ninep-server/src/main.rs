// SPDX-License-Identifier: Apache-2.0
//! ninep-server DIR PORT: serves DIR by 9P2000 on 127.0.0.1:PORT until it is ended.
//!
//! The protocol, its sessions, fids and permissions are those of the crate `ninep`; here is only what its operations do to a
//! directory. (The crate's own server of directories opens a file by name for each read, and so knows no open files.)
use ninep::{
    fs::{FileType, IoUnit, Mode, Perm, Qid, Stat, Timestamp, WStat, QID_ROOT},
    sync::{
        server::{ClientId, ReadOutcome, Serve9p, Server},
        SyncStream,
    },
    Result,
};
use std::{
    collections::{HashMap, VecDeque},
    fs::{self, File, FileTimes, Metadata, OpenOptions, Permissions},
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::{FileExt, MetadataExt, PermissionsExt},
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, UNIX_EPOCH},
};

const IOUNIT: IoUnit = 8192 - 24;
const MOST_OPEN: usize = 1024;
const RERROR: u8 = 107;

/// A file that some client has seen, under its name.
struct Node {
    parent: u64,
    name: String,
    inode: u64,
    file: Option<File>, // opened lately; outlives the name
}

struct Tree {
    root: PathBuf,
    nodes: HashMap<u64, Node>,
    by_name: HashMap<(u64, String), u64>,
    opened: VecDeque<u64>,
    last: u64,
    listing: Option<(u64, Vec<Stat>)>, // of the directory that was read last, since it was opened
}

impl Tree {
    fn path(&self, qid: u64) -> io::Result<PathBuf> {
        if qid == QID_ROOT {
            return Ok(self.root.clone());
        }
        let node = &self.nodes[&qid];
        if self.by_name.get(&(node.parent, node.name.clone())) != Some(&qid) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(self.path(node.parent)?.join(&node.name))
    }

    fn metadata(&self, qid: u64) -> io::Result<Metadata> {
        match self.nodes.get(&qid).and_then(|n| n.file.as_ref()) {
            Some(file) => file.metadata(),
            None => fs::symlink_metadata(self.path(qid)?),
        }
    }

    /// The number of what is there now: another one than before where the name leads to another file.
    fn qid_of(&mut self, parent: u64, name: &str, meta: &Metadata) -> Qid {
        let key = (parent, name.to_string());
        let known = self.by_name.get(&key).copied();
        let number = match known {
            Some(n) if self.nodes[&n].inode == meta.ino() => n,
            _ => {
                self.last += 1;
                let node = Node { parent, name: name.to_string(), inode: meta.ino(), file: None };
                self.nodes.insert(self.last, node);
                self.by_name.insert(key, self.last);
                self.last
            }
        };
        qid(number, meta)
    }

    fn stat(&mut self, number: u64) -> io::Result<Stat> {
        let meta = self.metadata(number)?;
        let name = self.nodes.get(&number).map_or("/", |n| &n.name).to_string();
        Ok(stat(number, name, &meta))
    }

    fn keep_open(&mut self, qid: u64, file: File) {
        self.nodes.get_mut(&qid).unwrap().file = Some(file);
        self.opened.push_back(qid);
        if self.opened.len() > MOST_OPEN {
            let oldest = self.opened.pop_front().unwrap();
            if !self.opened.contains(&oldest) {
                self.nodes.get_mut(&oldest).unwrap().file = None;
            }
        }
    }

    fn file(&self, qid: u64) -> io::Result<&File> {
        self.nodes[&qid].file.as_ref().ok_or_else(|| io::Error::from_raw_os_error(9)) // EBADF
    }

    fn rename(&mut self, qid: u64, name: &str) -> io::Result<()> {
        let from = self.path(qid)?;
        let parent = self.nodes[&qid].parent;
        fs::rename(&from, from.with_file_name(name))?;
        let old = std::mem::replace(&mut self.nodes.get_mut(&qid).unwrap().name, name.to_string());
        self.by_name.remove(&(parent, old));
        self.by_name.insert((parent, name.to_string()), qid);
        Ok(())
    }

    fn change(&mut self, qid: u64, to: WStat) -> io::Result<()> {
        if to.is_commit() {
            return File::open(self.path(qid)?)?.sync_all();
        }
        if to.last_accessed.is_some() || to.last_modified_by.is_some() || to.group.is_some() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if let Some(perms) = to.perms {
            fs::set_permissions(self.path(qid)?, Permissions::from_mode(perms.bits() & 0o777))?;
        }
        if let Some(size) = to.n_bytes {
            match self.file(qid) {
                Ok(file) => file.set_len(size)?,
                Err(_) => OpenOptions::new().write(true).open(self.path(qid)?)?.set_len(size)?,
            }
        }
        if let Some(time) = to.last_modified {
            let time = UNIX_EPOCH + Duration::from_secs(time.as_second() as u64);
            File::open(self.path(qid)?)?.set_times(FileTimes::new().set_modified(time))?;
        }
        to.name.map_or(Ok(()), |name| self.rename(qid, &name))
    }

    fn create(&mut self, parent: u64, name: &str, perm: Perm) -> io::Result<Qid> {
        let path = self.path(parent)?.join(name);
        let mut file = None;
        if perm.contains(Perm::DIRECTORY) {
            fs::create_dir(&path)?;
        } else {
            file = Some(OpenOptions::new().read(true).write(true).create_new(true).open(&path)?);
        }
        fs::set_permissions(&path, Permissions::from_mode(perm.bits() & 0o777))?;
        let qid = self.qid_of(parent, name, &fs::symlink_metadata(&path)?);
        if let Some(file) = file {
            self.keep_open(qid.path, file);
        }
        Ok(qid)
    }

    fn remove(&mut self, qid: u64) -> io::Result<()> {
        let path = self.path(qid)?;
        if fs::symlink_metadata(&path)?.is_dir() {
            fs::remove_dir(&path)?;
        } else {
            fs::remove_file(&path)?;
        }
        let node = &self.nodes[&qid];
        self.by_name.remove(&(node.parent, node.name.clone()));
        Ok(())
    }

    /// The crate asks for all of a directory with each part of it that a client reads, and takes what lies at the part's offset: as long
    /// as nobody opens the directory anew, it must stay the same listing, also while its files are removed.
    fn list(&mut self, qid: u64) -> io::Result<Vec<Stat>> {
        match &self.listing {
            Some((of, entries)) if *of == qid => return Ok(entries.clone()),
            _ => (),
        }
        let path = self.path(qid)?;
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if let (Ok(name), Ok(meta)) = (entry.file_name().into_string(), entry.metadata()) {
                let number = self.qid_of(qid, &name, &meta).path;
                entries.push(stat(number, name, &meta));
            }
        }
        self.listing = Some((qid, entries.clone()));
        Ok(entries)
    }
}

fn qid(number: u64, meta: &Metadata) -> Qid {
    if meta.is_dir() { Qid::dir(number) } else { Qid::file(number) }
}

fn stat(number: u64, name: String, meta: &Metadata) -> Stat {
    let qid = qid(number, meta);
    let user = |id: u32| if id == 0 { "root".to_string() } else { id.to_string() };
    let mut perms = Perm::new(meta.mode() & 0o777);
    if qid.ty == FileType::DIRECTORY {
        perms |= Perm::DIRECTORY;
    }
    Stat {
        qid,
        name,
        owner: user(meta.uid()),
        group: user(meta.gid()),
        perms,
        n_bytes: if meta.is_dir() { 0 } else { meta.len() },
        last_accessed: Timestamp::from_second(meta.atime()).unwrap_or_default(),
        last_modified: Timestamp::from_second(meta.mtime()).unwrap_or_default(),
        last_modified_by: String::new(),
    }
}

struct Directory(Arc<Mutex<Tree>>);

impl Directory {
    fn with<T>(&self, action: impl FnOnce(&mut Tree) -> io::Result<T>) -> Result<T> {
        // Linux's client knows the text, and not with a number behind it.
        action(&mut self.0.lock().unwrap()).map_err(|e| e.to_string().split(" (os error").next().unwrap_or_default().into())
    }
}

impl Serve9p for Directory {
    fn walk_one(&self, parent: u64, child: &str, _: ClientId) -> Result<Qid> {
        self.with(|tree| {
            let meta = fs::symlink_metadata(tree.path(parent)?.join(child))?;
            Ok(tree.qid_of(parent, child, &meta))
        })
    }

    fn open(&self, qid: u64, _: Mode, _: ClientId) -> Result<IoUnit> {
        self.with(|tree| {
            let path = tree.path(qid)?;
            if fs::symlink_metadata(&path)?.is_dir() {
                if matches!(&tree.listing, Some((of, _)) if *of == qid) {
                    tree.listing = None;
                }
            } else {
                let file = OpenOptions::new().read(true).write(true).open(&path);
                tree.keep_open(qid, file.or_else(|_| File::open(&path))?);
            }
            Ok(IOUNIT)
        })
    }

    fn create(&self, parent: u64, name: &str, perm: Perm, _: Mode, _: ClientId) -> Result<(Qid, IoUnit)> {
        self.with(|tree| Ok((tree.create(parent, name, perm)?, IOUNIT)))
    }

    fn read(&self, qid: u64, offset: usize, count: usize, _: ClientId) -> Result<ReadOutcome> {
        self.with(|tree| {
            let mut data = vec![0; count];
            let read = tree.file(qid)?.read_at(&mut data, offset as u64)?;
            data.truncate(read);
            Ok(ReadOutcome::Immediate(data))
        })
    }

    fn read_dir(&self, qid: u64, _: ClientId) -> Result<Vec<Stat>> {
        self.with(|tree| tree.list(qid))
    }

    fn write(&self, qid: u64, offset: usize, data: Vec<u8>, _: ClientId) -> Result<usize> {
        self.with(|tree| tree.file(qid)?.write_at(&data, offset as u64))
    }

    fn remove(&self, qid: u64, _: ClientId) -> Result<()> {
        self.with(|tree| tree.remove(qid))
    }

    fn stat(&self, qid: u64, _: ClientId) -> Result<Stat> {
        self.with(|tree| tree.stat(qid))
    }

    fn write_stat(&self, qid: u64, to: WStat, _: ClientId) -> Result<()> {
        self.with(|tree| tree.change(qid, to))
    }
}

/// Of a client. The crate says "unknown file" of a name that is not there, which means nothing to Linux's client.
struct Connection(TcpStream);

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Connection {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        const TYPE: usize = 4;
        const TEXT: usize = 9; // behind size, type, tag and the text's length
        if message.len() < TEXT || message[TYPE] != RERROR || message[TEXT..] != *b"unknown file" {
            return self.0.write(message);
        }
        let text = b"file not found";
        let mut other = ((TEXT + text.len()) as u32).to_le_bytes().to_vec();
        other.extend_from_slice(&message[TYPE..TEXT - 2]);
        other.extend_from_slice(&(text.len() as u16).to_le_bytes());
        other.extend_from_slice(text);
        self.0.write_all(&other).map(|()| message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl SyncStream for Connection {
    fn try_clone(&self) -> Result<Self> {
        self.0.try_clone().map(Connection).map_err(|e| e.to_string())
    }

    fn shutdown(&self) {
        SyncStream::shutdown(&self.0);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, directory, port] = &arguments[..] else {
        eprintln!("usage: ninep-server DIR PORT");
        std::process::exit(2);
    };
    let tree = Tree {
        root: directory.into(),
        nodes: HashMap::new(),
        by_name: HashMap::new(),
        opened: VecDeque::new(),
        last: QID_ROOT,
        listing: None,
    };
    let tree = Arc::new(Mutex::new(tree));
    let port: u16 = port.parse().expect("a port number");
    for client in TcpListener::bind(("127.0.0.1", port)).expect("a free port").incoming() {
        // The crate's own loop leaves Nagle's algorithm on: a reply behind another one, unacknowledged, would wait 40 ms.
        let client = client.and_then(|c| c.set_nodelay(true).map(|()| c)).expect("a connection");
        let tree = tree.clone();
        thread::spawn(move || Server::new(Directory(tree)).handle_single_client_stream(Connection(client)));
    }
}
