//! Renders a report as a chart, drawn as text or as SVG.

pub mod chart;
pub mod svg;
pub mod text;
