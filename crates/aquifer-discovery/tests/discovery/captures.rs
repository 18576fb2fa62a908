//! Nothing of a real capture is lost (R-DIS-2, R-DIS-3).

use std::collections::HashSet;

use aquifer_discovery::bundle::{Bundle, RawCapture};
use aquifer_protocol::operation::{MAX_NAME_LEN, RESERVED, is_snake_case};
use serde_json::Value;

use crate::fixture::{bundles, captures};

#[test]
fn r_dis_2_raw_capture_is_byte_for_byte() {
    for (name, text) in captures() {
        let capture = RawCapture::from_pages(&[&text]).unwrap();
        assert!(text.contains(capture.tools_text()), "{name}");
        let bundle = aquifer_discovery::normalize(crate::fixture::http(&name), capture);
        let written = bundle.write().unwrap();
        assert!(written.contains(bundle.raw_capture.tools_text()), "{name}");
        let read = Bundle::read(&written).unwrap();
        assert_eq!(read.raw_capture.tools_text(), bundle.raw_capture.tools_text(), "{name}");
        assert_eq!(read.write().unwrap(), written, "{name}");
    }
}

#[test]
fn r_dis_3_no_tool_and_no_parameter_is_lost() {
    for (name, bundle) in bundles() {
        let tools = bundle.tools();
        let operations = &bundle.normalized_bundle.operations;
        assert_eq!(tools.len(), bundle.raw_capture.tools().len(), "{name}");
        assert_eq!(tools.len(), operations.len(), "{name}");
        let mut names = HashSet::new();
        for (tool, operation) in tools.iter().zip(operations) {
            assert_eq!(tool.name, operation.source_tool_name);
            assert_eq!(operation.maps_to, format!("tool:{}", tool.name));
            let is_valid = is_snake_case(&operation.operation_name) && operation.operation_name.len() <= MAX_NAME_LEN;
            assert!(is_valid && !RESERVED.contains(&operation.operation_name.as_str()), "{operation:?}");
            assert!(names.insert(&operation.operation_name), "{operation:?}");
            let properties = tool.input_schema().and_then(|schema| schema.get("properties"));
            let wanted: Vec<&String> =
                properties.and_then(Value::as_object).into_iter().flat_map(|all| all.keys()).collect();
            let found: Vec<&String> = operation.params.iter().map(|parameter| &parameter.original_name).collect();
            assert_eq!(wanted, found, "{name} {}", tool.name);
        }
    }
}
