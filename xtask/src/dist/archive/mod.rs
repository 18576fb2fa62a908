//! Writers of archives. The same content gives the same bytes: entries are sorted, belong to root and carry the time of
//! the commit.

mod ar;
mod gzip;
mod tar;
mod tree;
mod zip;

pub(crate) use ar::ar;
pub(crate) use gzip::gzip;
pub(crate) use tar::tar;
pub(crate) use tree::{Content, Tree};
pub(crate) use zip::zip;

/// How archives are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    /// The time of every entry, in seconds since 1970.
    pub(crate) time: u64,
    pub(crate) effort: Effort,
}

impl Format {
    /// The same for small files, which are always compressed well.
    pub(crate) fn smallest(self) -> Self {
        Self { effort: Effort::Best, ..self }
    }
}

/// How much time compression may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// As small as possible.
    Best,
    /// As fast as possible, to test the packages.
    Fast,
}

impl Effort {
    fn level(self) -> flate2::Compression {
        match self {
            Self::Best => flate2::Compression::best(),
            Self::Fast => flate2::Compression::fast(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format { time: 1_700_000_000, effort: Effort::Best };

    fn tree() -> anyhow::Result<Tree> {
        let mut tree = Tree::default();
        tree.add_file("b/run", 0o755, b"program".repeat(1000))?;
        tree.add_file("a.txt", 0o644, b"text".to_vec())?;
        Ok(tree)
    }

    /// Runs a script of Python with an archive in a file of its own, and returns what it prints.
    fn python(name: &str, archive: &[u8], script: &str) -> anyhow::Result<String> {
        let path = std::env::temp_dir().join(format!("aquifer-xtask-{}-{name}", std::process::id()));
        std::fs::write(&path, archive)?;
        let done = std::process::Command::new("python3").args(["-c", script]).arg(&path).output()?;
        std::fs::remove_file(&path)?;
        anyhow::ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Ok(String::from_utf8(done.stdout)?.trim().to_owned())
    }

    #[test]
    fn packing_twice_gives_the_same_bytes() -> anyhow::Result<()> {
        let pack = || -> anyhow::Result<[Vec<u8>; 3]> {
            let tree = tree()?;
            let tar = gzip(&tar(&tree, FORMAT)?, FORMAT)?;
            let ar = ar(&[("debian-binary", b"2.0\n"), ("data.tar.gz", &tar)], FORMAT)?;
            Ok([tar, zip(&tree, FORMAT)?, ar])
        };
        assert!(pack()? == pack()?);
        Ok(())
    }

    #[test]
    fn other_programs_read_the_archives() -> anyhow::Result<()> {
        let script = "import sys, tarfile\nfor m in tarfile.open(sys.argv[1]): print(m.name, oct(m.mode), m.uid, m.uname, m.mtime, m.size)";
        let listed = python("a.tar.gz", &gzip(&tar(&tree()?, FORMAT)?, FORMAT)?, script)?;
        let expected = "a.txt 0o644 0 root 1700000000 4\nb 0o755 0 root 1700000000 0\n\
                        b/run 0o755 0 root 1700000000 7000";
        assert_eq!(listed, expected);
        let script = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nfor i in z.infolist(): print(i.filename, oct(i.external_attr >> 16), i.date_time, i.file_size)";
        let listed = python("a.zip", &zip(&tree()?, FORMAT)?, script)?;
        let time = "(2023, 11, 14, 22, 13, 20)";
        assert_eq!(listed, format!("a.txt 0o100644 {time} 4\nb/run 0o100755 {time} 7000"));
        Ok(())
    }
}
