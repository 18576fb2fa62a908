//! The published matrix of danger and trust, our one stricter rule, and the operator's own cells (R-SAF-2).

use aquifer_protocol::danger::Danger;
use aquifer_protocol::trust::Trust;
use serde::{Deserialize, Serialize};

/// The value for one danger level and one trust level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// Only introspection is allowed.
    IntrospectOnly,
    /// The call is denied.
    Deny,
    /// A person has to confirm the call.
    Confirm,
    /// The call runs.
    Allow,
}

impl Cell {
    /// The value as the specification spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Cell::IntrospectOnly => "introspect_only",
            Cell::Deny => "deny",
            Cell::Confirm => "confirm",
            Cell::Allow => "allow",
        }
    }

    /// Whether calls are denied, with or without introspection.
    pub const fn denies(self) -> bool {
        matches!(self, Cell::IntrospectOnly | Cell::Deny)
    }
}

/// The published matrix: one row per danger level and one column per published trust level, lowest first.
#[rustfmt::skip]
pub const PUBLISHED: [[Cell; 5]; 5] = {
    use Cell::{Allow, Confirm, Deny, IntrospectOnly};
    [
        [IntrospectOnly, Allow, Allow,   Allow,   Allow],
        [Deny,           Deny,  Allow,   Allow,   Allow],
        [Deny,           Deny,  Confirm, Allow,   Allow],
        [Deny,           Deny,  Deny,    Confirm, Allow],
        [Deny,           Deny,  Deny,    Deny,    Confirm],
    ]
};

/// From this level on, a person has to confirm regardless of the source's trust, unless the operator sets the cell.
pub const CONFIRM_FLOOR: Danger = Danger::Destructive;

/// Where a cell's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The published matrix.
    Published,
    /// The published matrix would allow it, but destructive operations and above need confirmation.
    Floor,
    /// The operator's configuration.
    Operator,
}

/// The matrix in force.
#[derive(Debug, Clone)]
pub(super) struct Matrix([[(Cell, Origin); 6]; 5]);

impl Default for Matrix {
    fn default() -> Self {
        let mut matrix = Self([[(Cell::Deny, Origin::Published); 6]; 5]);
        for danger in Danger::ALL {
            for trust in Trust::ALL {
                let cell = match published_cell(danger, trust) {
                    Cell::Allow if danger >= CONFIRM_FLOOR => (Cell::Confirm, Origin::Floor),
                    cell => (cell, Origin::Published),
                };
                matrix.set_cell(danger, trust, cell);
            }
        }
        matrix
    }
}

impl Matrix {
    /// Sets the operator's value of a cell. A value for `validated` also applies to `accepted`, unless that is set itself
    /// afterwards: a source does not run more freely because nobody tested it.
    pub(super) fn override_cell(&mut self, danger: Danger, trust: Trust, cell: Cell) {
        if trust == Trust::Validated {
            self.set_cell(danger, Trust::Accepted, (cell, Origin::Operator));
        }
        self.set_cell(danger, trust, (cell, Origin::Operator));
    }

    pub(super) fn cell(&self, danger: Danger, trust: Trust) -> (Cell, Origin) {
        let row = self.0.get(danger as usize);
        row.and_then(|row| row.get(trust as usize)).copied().unwrap_or((Cell::Deny, Origin::Published))
    }

    /// The lowest trust, not below `minimum`, at which an operation of this danger is not denied.
    pub(super) fn min_trust(&self, danger: Danger, minimum: Option<Trust>) -> Option<Trust> {
        let minimum = minimum.unwrap_or(Trust::Untested);
        Trust::ALL.into_iter().find(|trust| *trust >= minimum && !self.cell(danger, *trust).0.denies())
    }

    fn set_cell(&mut self, danger: Danger, trust: Trust, cell: (Cell, Origin)) {
        if let Some(place) = self.0.get_mut(danger as usize).and_then(|row| row.get_mut(trust as usize)) {
            *place = cell;
        }
    }
}

/// The published value, before any stricter setting. What an operator accepted has the column of `validated`.
pub fn published_cell(danger: Danger, trust: Trust) -> Cell {
    let trust = if trust == Trust::Accepted { Trust::Validated } else { trust };
    let column = Trust::PUBLISHED.iter().position(|level| *level == trust);
    let cell = column.and_then(|column| PUBLISHED.get(danger as usize)?.get(column));
    cell.copied().unwrap_or(Cell::Deny)
}
