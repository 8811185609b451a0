//! Indexes core memory and notes. Their files grow at their end, so that usually only new items are read; a file that was
//! changed elsewhere is indexed anew.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rusqlite::Connection;

use super::super::layout::Layout;
use super::super::lines::Fnv;
use super::database::DatabaseError;
use super::sources::{
    Area, FIRST_POSITION, IndexedFile, SourceFile, changed_at, enter_file, files_of, find_file, inode_of,
    keep_file,
};
use super::vectors::remove_orphans;
use super::writing::{Doc, StepBudget, Writer, forget_file, in_transaction, remove_rows};
use crate::domain::{ScopeKey, item_blocks, read_item};
use crate::ports::TextSource;

/// How much of a memory file is read at once to tell whether it has only grown.
const PREFIX_CHUNK: usize = 16 * 1024;

/// Indexes the core memory and the notes of a scope as they stand now.
pub(super) fn update_memory(
    connection: &Connection,
    layout: &Layout,
    scope: &ScopeKey,
    budget: &mut StepBudget,
) -> Result<(), DatabaseError> {
    let present = memory_files(layout, scope)?;
    let area = Area::Memory(scope.clone());
    for (kind, name) in &present {
        let file = SourceFile { area: area.clone(), kind: *kind, name: name.clone() };
        update_memory_file(connection, &layout.root().join(name), &file, budget)?;
    }
    for (name, base) in files_of(connection, &area)? {
        if !present.iter().any(|(_, known)| *known == name) {
            in_transaction(connection, || Ok(forget_file(connection, base)?))?;
        }
    }
    Ok(())
}

/// Whether the index has the memory of a scope as it stands now.
pub(super) fn is_memory_current(
    connection: &Connection,
    layout: &Layout,
    scope: &ScopeKey,
) -> Result<bool, DatabaseError> {
    let area = Area::Memory(scope.clone());
    let mut present = BTreeSet::new();
    for (kind, name) in memory_files(layout, scope)? {
        let metadata = match std::fs::metadata(layout.root().join(&name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        let source = SourceFile { area: area.clone(), kind, name: name.clone() };
        if !find_file(connection, &source)?.is_some_and(|known| known.is_as(&metadata)) {
            return Ok(false);
        }
        present.insert(name);
    }
    Ok(files_of(connection, &area)?.iter().all(|(name, _)| present.contains(name)))
}

/// The files of a scope's memory, from the state directory down. That of core memory may be missing.
fn memory_files(layout: &Layout, scope: &ScopeKey) -> io::Result<Vec<(TextSource, String)>> {
    let mut files = vec![(TextSource::Core, scope.core_file())];
    let folder = scope.notes_folder();
    for name in markdown_files(&layout.root().join(&folder))? {
        files.push((TextSource::Notes, format!("{folder}/{name}")));
    }
    Ok(files)
}

fn markdown_files(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        names.extend(
            name.to_str().filter(|name| name.ends_with(".md") && !name.starts_with('.')).map(str::to_owned),
        );
    }
    names.sort();
    Ok(names)
}

fn update_memory_file(
    connection: &Connection,
    path: &Path,
    source: &SourceFile,
    budget: &mut StepBudget,
) -> Result<(), DatabaseError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match find_file(connection, source)? {
                None => Ok(()),
                Some(known) => in_transaction(connection, || Ok(forget_file(connection, known.base)?)),
            };
        }
        file => file?,
    };
    let metadata = file.metadata()?;
    if find_file(connection, source)?.is_some_and(|known| known.is_as(&metadata)) {
        return Ok(());
    }
    budget.spend(metadata.size());
    in_transaction(connection, || reindex_memory_file(connection, file, source, &metadata))
}

fn reindex_memory_file(
    connection: &Connection,
    mut file: File,
    source: &SourceFile,
    metadata: &Metadata,
) -> Result<(), DatabaseError> {
    let Some(mut known) = enter_file(connection, source)? else { return Ok(()) };
    let changed = changed_at(metadata);
    let mut digest = Fnv::new();
    let mut bytes = Vec::new();
    let begin = read_prefix(&mut file, known.bytes, &mut digest)?;
    file.read_to_end(&mut bytes)?;
    // New items stand behind those that are indexed: all else changes one of them.
    let grown = begin == Some(b'\n') && digest.value() == known.tail && !goes_on(&bytes);
    if !grown {
        remove_rows(connection, known.rows())?;
        known = IndexedFile { bytes: 0, next: FIRST_POSITION, ..known };
        digest = Fnv::new();
        bytes.clear();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
    }
    digest.add(&bytes);
    let text = String::from_utf8_lossy(&bytes);
    let mut writer = Writer::new(connection)?;
    for block in item_blocks(&text) {
        let item = read_item(block);
        let Some(row) = known.take_row().filter(|_| !item.text.trim().is_empty()) else { continue };
        let id = item.id.unwrap_or_default();
        let at = item.at.unwrap_or(changed / 1_000_000);
        writer.put(&Doc {
            row,
            id: &id,
            at,
            author: item.author.as_deref().unwrap_or_default(),
            text: &item.text,
            flags: 0,
        })?;
    }
    known.bytes = known.bytes.saturating_add(bytes.len() as u64);
    (known.tail, known.changed, known.inode) = (digest.value(), changed, inode_of(metadata));
    if !grown {
        remove_orphans(connection)?;
    }
    Ok(keep_file(connection, &known)?)
}

/// Reads the first bytes of a file into a digest. Returns the last of them; nothing where there are none, or fewer.
fn read_prefix(file: &mut File, length: u64, digest: &mut Fnv) -> io::Result<Option<u8>> {
    let mut chunk = [0; PREFIX_CHUNK];
    let (mut left, mut last) = (length, None);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(PREFIX_CHUNK);
        let count = file.read(chunk.get_mut(..most).unwrap_or_default())?;
        let Some(read) = chunk.get(..count).filter(|read| !read.is_empty()) else { return Ok(None) };
        digest.add(read);
        last = read.last().copied();
        left = left.saturating_sub(count as u64);
    }
    Ok(last)
}

/// Whether a text goes on with the item before it.
fn goes_on(bytes: &[u8]) -> bool {
    bytes.starts_with(b"  ") || bytes.starts_with(b"\t")
}
