//! Builds the settings of a database source from the configuration.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::bail;
use aquifer_query::FieldType;
use aquifer_sql::{ComputedSettings, Settings, Style, TableSettings, Target};

use crate::config::{self, SourceConfig};

pub(super) fn settings(config: &SourceConfig, name: &str, target: Target) -> anyhow::Result<Settings> {
    if let Some(reason) = target.unsupported() {
        bail!("source '{name}': {reason}");
    }
    let mut settings = Settings::with_target(name, target);
    settings.schemas.clone_from(&config.schemas);
    settings.include.clone_from(&config.include);
    settings.exclude.clone_from(&config.exclude);
    if let Some(problem) = settings.pattern_problems().first() {
        bail!("source '{name}': {problem}");
    }
    settings.read_only = config.read_only;
    settings.query_sql = config.query_sql;
    settings.style = match config.style {
        None | Some(config::TableStyle::Auto) => Style::Auto,
        Some(config::TableStyle::Tables) => Style::Tables,
        Some(config::TableStyle::Generic) => Style::Generic,
    };
    if let Some(seconds) = config.timeout_seconds {
        if seconds == 0 {
            bail!("source '{name}': timeout_seconds must be at least 1");
        }
        settings.timeout = Duration::from_secs(seconds);
    }
    if let Some(connections) = config.max_connections {
        settings.connections = connections.clamp(1, 1_000);
    }
    settings.pages.max_size = config.max_page_size.unwrap_or(settings.pages.max_size).clamp(1, 1_000);
    settings.pages.default_size =
        config.page_size.unwrap_or(settings.pages.default_size).clamp(1, settings.pages.max_size);
    settings.tables = tables(&config.tables)?;
    Ok(settings)
}

fn tables(tables: &BTreeMap<String, config::TableConfig>) -> anyhow::Result<BTreeMap<String, TableSettings>> {
    let mut all = BTreeMap::new();
    for (name, table) in tables {
        let mut computed = Vec::new();
        for (field, own) in &table.computed {
            computed.push(ComputedSettings {
                name: field.clone(),
                sql: own.sql.clone(),
                field_type: match own.type_name.as_str() {
                    "text" | "string" => FieldType::Text,
                    "integer" => FieldType::Integer,
                    "number" => FieldType::Number,
                    "boolean" => FieldType::Boolean,
                    "time" => FieldType::Time,
                    "date" => FieldType::Date,
                    other => bail!(
                        "table '{name}', computed field '{field}': unknown type '{other}'. \
                         Known: text, integer, number, boolean, time, date"
                    ),
                },
                description: own.description.clone(),
                filterable: own.filterable.unwrap_or(true),
                sortable: own.sortable.unwrap_or(true),
            });
        }
        all.insert(
            name.clone(),
            TableSettings {
                singular: table.singular.clone(),
                plural: table.plural.clone(),
                description: table.description.clone(),
                presets: table.presets.clone(),
                key: table.key.clone(),
                hide: table.hide.clone(),
                show: table.show.clone(),
                computed,
            },
        );
    }
    Ok(all)
}
