//! Files that callers name by path. Only files in folders that the operator allowed are read.
//!
//! Every invalid path gets the same message, so that callers cannot find out which files exist elsewhere.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use aquifer_protocol::error::{Failure, too_large};
use aquifer_protocol::limits::LimitKind;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::error::{RestError, RestProblem};
use crate::route::{Body, BodyEncoding, FieldEncoding, Place, Route};

/// The maximum total size of the files in a request, in bytes.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// The field that names a file.
const PATH: &str = "path";

/// The folders whose files may be sent.
#[derive(Debug, Clone, Default)]
pub(super) struct FileRoots(Vec<PathBuf>);

impl FileRoots {
    /// Resolves the folders, all of which must exist.
    pub(super) fn new(folders: &[PathBuf]) -> Result<Self, RestError> {
        let canonical = folders.iter().map(|folder| {
            let found = folder.canonicalize().ok().filter(|found| found.is_dir());
            found.ok_or_else(|| {
                let problem = format!("the folder '{}' of file_roots does not exist", folder.display());
                RestError::new(RestProblem::InvalidRequest(problem), false)
            })
        });
        canonical.collect::<Result<_, _>>().map(Self)
    }

    /// Whether a request may contain files.
    pub(super) fn takes_files(route: &Route) -> bool {
        !file_parameters(route).is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces the paths in parameters by the contents of the files. Blocks while it reads files.
    pub(super) fn load(&self, route: &Route, mut params: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        let mut left = MAX_BYTES;
        for name in file_parameters(route) {
            let Some(value) = params.get_mut(&name) else { continue };
            let is_whole = route.body.as_ref().is_some_and(|body| body.encoding == BodyEncoding::Binary);
            match &mut *value {
                Value::Array(files) => {
                    files.iter_mut().try_for_each(|file| self.load_one(&name, file, &mut left))?;
                }
                file => self.load_one(&name, file, &mut left)?,
            }
            // A whole body is sent as content alone.
            if let (true, Value::Object(file)) = (is_whole, &mut *value) {
                *value = file.remove("content").unwrap_or_default();
            }
        }
        Ok(params)
    }

    fn load_one(&self, parameter: &str, value: &mut Value, left: &mut u64) -> Result<(), Failure> {
        let Value::Object(file) = value else { return Ok(()) };
        let Some(path) = file.remove(PATH).filter(|path| !path.is_null()) else { return Ok(()) };
        if file.get("content").is_some_and(|content| !content.is_null()) {
            return Err(Failure::invalid_value(parameter, "has both 'content' and 'path'"));
        }
        let path = path.as_str().ok_or_else(|| Failure::invalid_value(parameter, "has a path that is no text"))?;
        let found = self.find(Path::new(path)).ok_or_else(|| refused(parameter))?;
        let content = read(parameter, &found, left)?;
        file.insert("content".to_owned(), STANDARD.encode(content).into());
        let name = found.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        file.entry("media_type").or_insert_with(|| media_type(&name).into());
        file.entry("filename").or_insert(name.into());
        Ok(())
    }

    /// The file at a path, if it is below one of the folders after all links are resolved.
    fn find(&self, path: &Path) -> Option<PathBuf> {
        let goes_up = path.components().any(|step| matches!(step, Component::ParentDir));
        if goes_up || path.as_os_str().is_empty() {
            return None;
        }
        self.0.iter().find_map(|root| {
            // `join` replaces the folder by an absolute path, so the result is checked against the folder below.
            let found = root.join(path).canonicalize().ok()?;
            // Opening a pipe or a device could block.
            (found.starts_with(root) && found.is_file()).then_some(found)
        })
    }
}

fn read(parameter: &str, path: &Path, left: &mut u64) -> Result<Vec<u8>, Failure> {
    let file = File::open(path).map_err(|_| refused(parameter))?;
    let size = file.metadata().ok().filter(std::fs::Metadata::is_file).ok_or_else(|| refused(parameter))?.len();
    let mut content = Vec::new();
    // The file may grow while it is read.
    file.take(*left + 1).read_to_end(&mut content).map_err(|_| refused(parameter))?;
    let read = u64::try_from(content.len()).unwrap_or(u64::MAX).max(size);
    if read > *left {
        let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        return Err(too_large(LimitKind::RequestSize, bytes(MAX_BYTES), bytes(MAX_BYTES - *left + read)));
    }
    *left -= read;
    Ok(content)
}

fn refused(parameter: &str) -> Failure {
    Failure::invalid_value(parameter, "names no file that may be sent: the operator decides with 'file_roots'")
}

/// The parameters of a route that are files.
fn file_parameters(route: &Route) -> Vec<String> {
    let Some(body) = &route.body else { return Vec::new() };
    let parameters = route.parameters.iter().filter(|parameter| match parameter.place {
        Place::Body => body.encoding == BodyEncoding::Binary,
        Place::BodyField => is_file_field(body, &parameter.original_name),
        _ => false,
    });
    parameters.map(|parameter| parameter.name.to_string()).collect()
}

fn is_file_field(body: &Body, name: &str) -> bool {
    body.fields.iter().any(|(field, encoding)| &**field == name && *encoding == FieldEncoding::File)
}

/// Lets callers name files by path.
pub(super) fn offer_paths(operation: &mut Operation, route: &Route) {
    let files = file_parameters(route);
    for parameter in operation.parameters.iter_mut().filter(|parameter| files.contains(&parameter.name.to_string())) {
        let description = parameter.schema.description.clone();
        let is_list = matches!(parameter.schema.kind, Kind::Array(_));
        let schema = if is_list { Schema::new(Kind::Array(Some(Box::new(file())))) } else { file() };
        parameter.schema = Schema { description, ..schema };
    }
}

fn file() -> Schema {
    let field = |name: &str, words: &str| Parameter::optional(name, Schema::string().describe(words));
    let object = Schema::object(vec![
        field(PATH, "A file of the folders that the operator allowed, instead of 'content'."),
        field("content", "The content in base64."),
        field("filename", "The name of the file."),
        field("media_type", "The media type of the content."),
    ]);
    Schema::new(Kind::Union(vec![Schema::string().describe("The content in base64."), object]))
}

/// The media type of a file, derived from its name.
fn media_type(name: &str) -> &'static str {
    const KNOWN: &[(&str, &str)] = &[
        ("txt", "text/plain"),
        ("md", "text/markdown"),
        ("csv", "text/csv"),
        ("html", "text/html"),
        ("json", "application/json"),
        ("xml", "application/xml"),
        ("pdf", "application/pdf"),
        ("zip", "application/zip"),
        ("png", "image/png"),
        ("jpg", "image/jpeg"),
        ("jpeg", "image/jpeg"),
        ("gif", "image/gif"),
        ("webp", "image/webp"),
        ("svg", "image/svg+xml"),
        ("mp3", "audio/mpeg"),
        ("wav", "audio/wav"),
        ("mp4", "video/mp4"),
    ];
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    KNOWN.iter().find(|(known, _)| *known == ending).map_or("application/octet-stream", |(_, found)| *found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::route::{Method, RouteParameter};

    /// A temporary folder, removed when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("aquifer-rest-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    fn route(encoding: BodyEncoding) -> Route {
        let is_whole = encoding == BodyEncoding::Binary;
        let place = if is_whole { Place::Body } else { Place::BodyField };
        let parameter = RouteParameter { name: "file".into(), original_name: "File".into(), place };
        let fields = vec![("File".into(), FieldEncoding::File)];
        let body = Body { media_type: "".into(), encoding, required: true, fields };
        Route { parameters: vec![parameter], body: Some(body), ..Route::new(Method::Post) }
    }

    fn load(roots: &FileRoots, file: Value) -> Result<Value, String> {
        let params = Map::from_iter([("file".to_owned(), file)]);
        let loaded = roots.load(&route(BodyEncoding::Multipart), params);
        loaded.map(|mut params| params.remove("file").unwrap()).map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn files_are_read_in_their_folders_only() {
        let folder = Folder::new("places");
        let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
        std::fs::create_dir_all(inside.join("deep")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(inside.join("deep/a.PDF"), "abc").unwrap();
        std::fs::write(outside.join("secret"), "secret").unwrap();
        // A folder whose name begins like the allowed one.
        std::fs::create_dir(folder.path().join("in-other")).unwrap();
        std::fs::write(folder.path().join("in-other/x"), "x").unwrap();
        let roots = FileRoots::new(std::slice::from_ref(&inside)).unwrap();
        let whole = json!({ "content": "YWJj", "filename": "a.PDF", "media_type": "application/pdf" });
        let absolute = inside.join("deep/a.PDF");
        for path in ["deep/a.PDF", "./deep/a.PDF", absolute.to_str().unwrap()] {
            assert_eq!(load(&roots, json!({ "path": path })).unwrap(), whole, "{path}");
        }
        assert_eq!(
            load(&roots, json!([{ "path": "deep/a.PDF", "filename": "b" }, "eA=="])).unwrap()[0]["filename"],
            "b"
        );
        assert_eq!(load(&roots, json!("eA==")).unwrap(), "eA==");
        let elsewhere = [outside.join("secret"), folder.path().join("in-other/x"), outside.join("missing")];
        let mut refused: Vec<String> = elsewhere.iter().map(|path| path.to_str().unwrap().to_owned()).collect();
        refused.extend(
            ["", ".", "deep", "../out/secret", "deep/../../out/secret", "missing", "a\0b", "/etc/passwd"]
                .map(str::to_owned),
        );
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outside.join("secret"), inside.join("link")).unwrap();
            std::os::unix::fs::symlink(&outside, inside.join("folder")).unwrap();
            refused.extend(["link", "folder/secret", "folder/missing"].map(str::to_owned));
        }
        let messages: Vec<String> =
            refused.iter().map(|path| load(&roots, json!({ "path": path })).unwrap_err()).collect();
        assert!(
            messages.iter().all(|message| *message == messages[0] && message.contains("file_roots")),
            "{messages:?}"
        );
        assert!(load(&roots, json!({ "path": "deep/a.PDF", "content": "eA==" })).unwrap_err().contains("both"));
        assert!(load(&roots, json!({ "path": 5 })).is_err());
        assert!(load(&FileRoots::default(), json!({ "path": absolute })).is_err());
        assert!(FileRoots::new(&[folder.path().join("missing")]).is_err());
    }

    #[test]
    fn files_are_bounded_all_together() {
        let folder = Folder::new("sizes");
        File::create(folder.path().join("half")).unwrap().set_len(MAX_BYTES / 2 + 1).unwrap();
        let roots = FileRoots::new(&[folder.path().to_owned()]).unwrap();
        assert!(load(&roots, json!({ "path": "half" })).is_ok());
        let both = load(&roots, json!([{ "path": "half" }, { "path": "half" }])).unwrap_err();
        assert!(both.contains("33554432"), "{both}");
    }

    #[test]
    fn a_whole_body_is_its_content() {
        let folder = Folder::new("whole");
        std::fs::write(folder.path().join("a"), "abc").unwrap();
        let roots = FileRoots::new(&[folder.path().to_owned()]).unwrap();
        for (given, expected) in
            [(json!({ "path": "a" }), "YWJj"), (json!({ "content": "eA==" }), "eA=="), (json!("eA=="), "eA==")]
        {
            let params = Map::from_iter([("file".to_owned(), given)]);
            assert_eq!(roots.load(&route(BodyEncoding::Binary), params).unwrap()["file"], expected);
        }
    }
}
