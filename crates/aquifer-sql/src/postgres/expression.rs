//! Parses expressions stored by PostgreSQL (checks, defaults, policies, trigger conditions): trees that reference every
//! function, operator and type by number. Their text cannot be mistaken for code, because constants are stored as
//! bytes.

use super::catalog::contains_word;

/// Node types that only compute. Nodes with queries are not among them.
const NODES: &str = "\
    ARRAY ARRAYCOERCEEXPR ARRAYEXPR ARRAYREF BOOLEANTEST BOOLEXPR CASE CASEEXPR CASETESTEXPR CASEWHEN COALESCE \
    COALESCEEXPR COERCETODOMAIN COERCETODOMAINVALUE COERCEVIAIO CONST DISTINCTEXPR FIELDSELECT FUNCEXPR MINMAX \
    MINMAXEXPR NULLIFEXPR NULLTEST OPEXPR RELABELTYPE SCALARARRAYOPEXPR SQLVALUEFUNCTION SUBSCRIPTINGREF VAR WHEN";

/// The objects that an expression uses, by number.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) functions: Vec<i64>,
    pub(super) operators: Vec<i64>,
    pub(super) types: Vec<i64>,
}

impl Expression {
    /// Parses a tree; `None` if it has an unknown node.
    pub(super) fn parse(tree: &str) -> Option<Self> {
        // Known nodes contain no names, and only names are escaped.
        if tree.is_empty() || tree.contains('\\') || tree.contains('"') {
            return None;
        }
        let nodes = tree.split('{').skip(1).map(|node| node.split([' ', '}']).next().unwrap_or_default());
        if !nodes.into_iter().all(|node| contains_word(NODES, node)) {
            return None;
        }
        let mut expression = Self::default();
        for member in tree.split(':').skip(1) {
            let mut words = member.split([' ', '}', ')']);
            let of = match words.next()? {
                // The function of an operator is covered by the operator.
                "funcid" | "elemfuncid" => &mut expression.functions,
                "opno" => &mut expression.operators,
                "resulttype" | "funcresulttype" | "opresulttype" => &mut expression.types,
                _ => continue,
            };
            match words.next()?.parse().ok()? {
                0 => {}
                number => of.push(number),
            }
        }
        Some(expression)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_req_9_expression_trees_list_everything_they_use() {
        let tree = "{OPEXPR :opno 525 :opfuncid 150 :opresulttype 16 :args ({FUNCEXPR :funcid 1574 :funcresulttype 20 \
                    :args ({CONST :constisnull false :constvalue 4 [ 123 0 0 0 ]})} {COERCETODOMAIN :arg {VAR :varno 1} \
                    :resulttype 16400})}";
        let expected = Expression { functions: vec![1574], operators: vec![525], types: vec![16, 20, 16400] };
        assert_eq!(Expression::parse(tree), Some(expected));
        for tree in [
            "",
            "{SUBLINK :subLinkType 4}",
            "({OPEXPR :opno 1} {QUERY :commandType 1})",
            "{NAMEDARGEXPR :name a}",
            "{VAR :name \\{}",
            "{FUNCEXPR :funcid x}",
        ] {
            assert_eq!(Expression::parse(tree), None, "{tree}");
        }
    }
}
