//! Reads stored expressions of PostgreSQL (checks, defaults, policies, conditions of triggers) as the server keeps them:
//! a tree that names every function, operator and type by number. Its text cannot be mistaken for code: constants are
//! bytes.

use super::safe_code::has;

/// Kinds of nodes that only compute. Those with queries in them are not among these.
const NODES: &str = "\
    ARRAY ARRAYCOERCEEXPR ARRAYEXPR ARRAYREF BOOLEANTEST BOOLEXPR CASE CASEEXPR CASETESTEXPR CASEWHEN COALESCE \
    COALESCEEXPR COERCETODOMAIN COERCETODOMAINVALUE COERCEVIAIO CONST DISTINCTEXPR FIELDSELECT FUNCEXPR MINMAX \
    MINMAXEXPR NULLIFEXPR NULLTEST OPEXPR RELABELTYPE SCALARARRAYOPEXPR SQLVALUEFUNCTION SUBSCRIPTINGREF VAR WHEN";

/// What an expression uses, by number.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) functions: Vec<i64>,
    pub(super) operators: Vec<i64>,
    pub(super) types: Vec<i64>,
}

impl Expression {
    /// Reads a tree; nothing if it has a node that is not recognized.
    pub(super) fn parse(tree: &str) -> Option<Self> {
        // No node that is recognized holds names, and only names are escaped.
        if tree.is_empty() || tree.contains('\\') || tree.contains('"') {
            return None;
        }
        let nodes = tree.split('{').skip(1).map(|node| node.split([' ', '}']).next().unwrap_or_default());
        if !nodes.into_iter().all(|node| has(NODES, node)) {
            return None;
        }
        let mut expression = Self::default();
        for member in tree.split(':').skip(1) {
            let mut words = member.split([' ', '}', ')']);
            let of = match words.next()? {
                // An operator's function goes with the operator.
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
