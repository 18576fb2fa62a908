//! Parses the trees in which PostgreSQL stores expressions (checks, defaults, policies, trigger conditions) and queries
//! (views). They reference every function, operator, type and table by number.
//!
//! A tree contains names that users chose, and a name can look like a member (`":funcid"`). The structure decides what a
//! word is: each member of a node has exactly one value. The parser needs no recursion, because a caller's statement
//! decides how deep a tree is.

use super::catalog::contains_word;

/// Node types that only compute. Nodes with queries are not among them.
const NODES: &str = "\
    ARRAY ARRAYCOERCEEXPR ARRAYEXPR ARRAYREF BOOLEANTEST BOOLEXPR CASE CASEEXPR CASETESTEXPR CASEWHEN COALESCE \
    COALESCEEXPR COERCETODOMAIN COERCETODOMAINVALUE COERCEVIAIO CONST DISTINCTEXPR FIELDSELECT FUNCEXPR MINMAX \
    MINMAXEXPR NULLIFEXPR NULLTEST OPEXPR RELABELTYPE SCALARARRAYOPEXPR SQLVALUEFUNCTION SUBSCRIPTINGREF VAR WHEN";

/// Further node types of queries that only read. Not among them are row locks, samples, table functions and XML.
const QUERY_NODES: &str = "\
    AGGREF ALIAS COLLATE COLLATEEXPR COMMONTABLEEXPR CONVERTROWTYPEEXPR CTECYCLECLAUSE CTESEARCHCLAUSE FROMEXPR \
    GROUPINGFUNC GROUPINGSET JOINEXPR JSONBEHAVIOR JSONCONSTRUCTOREXPR JSONEXPR JSONFORMAT JSONISPREDICATE \
    JSONRETURNING JSONVALUEEXPR NAMEDARGEXPR PARAM QUERY RANGETBLENTRY RANGETBLFUNCTION RANGETBLREF ROW ROWCOMPARE \
    ROWCOMPAREEXPR ROWEXPR RTE RTEPERMISSIONINFO SETOPERATIONSTMT SORTGROUPCLAUSE SUBLINK TARGETENTRY WINDOWCLAUSE \
    WINDOWFUNC";

/// Members with the number of a function. The function of an operator is covered by the operator.
const FUNCTION_MEMBERS: &str = "aggfnoid elemfuncid endInRangeFunc funcid startInRangeFunc winfnoid";
const OPERATOR_MEMBERS: &str = "cycle_mark_neop eqop opno opnos sortop";
/// Types of values that an expression makes.
const TYPE_MEMBERS: &str = "funcresulttype opresulttype resulttype";
/// Types of values that an expression contains.
const MENTIONED_MEMBERS: &str = "\
    aggargtypes aggtype array_typeid casetype coalescetype colTypes coltypes consttype ctecoltypes cycle_mark_type \
    element_typeid funccoltypes minmaxtype paramtype refcontainertype refelemtype refrestype row_typeid type typeId \
    typid vartype wintype";

/// The first `SQLVALUEFUNCTION` that is not a time: the current role, user, catalog or schema.
const FIRST_IDENTITY: i64 = 9;
/// The command of a query that reads.
const SELECT: i64 = 1;

/// The objects that an expression or query uses, by number.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) functions: Vec<i64>,
    pub(super) operators: Vec<i64>,
    pub(super) types: Vec<i64>,
    /// All other types in it.
    pub(super) mentioned_types: Vec<i64>,
    /// The tables that a query names.
    pub(super) relations: Vec<i64>,
    /// Whether it reads the name of the user, the database or the schema.
    pub(super) reads_identity: bool,
}

/// An open node or list.
enum Open<'t> {
    /// The node type, and the member whose value comes next.
    Node(&'t str, Option<&'t str>),
    /// A list that is the value of a member of a node.
    List(&'t str, &'t str),
}

impl Expression {
    /// Parses an expression without queries; `None` if it has an unknown node.
    pub(super) fn parse(tree: &str) -> Option<Self> {
        Self::parse_nodes(tree, |node| contains_word(NODES, node))
    }

    /// Parses a query, or an expression with queries; `None` if it has an unknown node, or changes anything.
    pub(super) fn parse_query(tree: &str) -> Option<Self> {
        Self::parse_nodes(tree, |node| contains_word(NODES, node) || contains_word(QUERY_NODES, node))
    }

    fn parse_nodes(tree: &str, is_known: impl Fn(&str) -> bool) -> Option<Self> {
        let mut expression = Self::default();
        let mut open: Vec<Open<'_>> = Vec::new();
        let mut tokens = Tokens(tree).peekable();
        let mut is_empty = true;
        while let Some(token) = tokens.next() {
            // Only lists are allowed around the outermost node.
            let (node, member) = match open.last() {
                None if !is_empty => return None,
                None => ("", ""),
                Some(Open::Node(node, Some(member))) | Some(Open::List(node, member)) => (*node, *member),
                Some(Open::Node(_, None)) if token == "}" => ("", ""),
                Some(Open::Node(node, None)) => {
                    let node = *node;
                    let member = token.strip_prefix(':')?;
                    open.pop();
                    open.push(Open::Node(node, Some(member)));
                    continue;
                }
            };
            is_empty = false;
            match token {
                "{" => {
                    let name = tokens.next().filter(|name| is_known(name))?;
                    open.push(Open::Node(name, None));
                    continue;
                }
                "(" => {
                    open.push(Open::List(node, member));
                    continue;
                }
                "}" => matches!(open.pop()?, Open::Node(_, None)).then_some(())?,
                ")" => matches!(open.pop()?, Open::List(..)).then_some(())?,
                _ if open.is_empty() => return None,
                value => {
                    expression.add(node, member, value)?;
                    // The bytes of a constant follow their number.
                    if tokens.next_if_eq(&"[").is_some() {
                        tokens.by_ref().find(|token| *token == "]")?;
                    }
                }
            }
            if let Some(Open::Node(_, member)) = open.last_mut() {
                *member = None;
            }
        }
        (open.is_empty() && !is_empty).then_some(expression)
    }

    /// Adds the value of a member, or an element of a list.
    fn add(&mut self, node: &str, member: &str, value: &str) -> Option<()> {
        let numbers = match member {
            "commandType" if node == "QUERY" => return (value.parse() == Ok(SELECT)).then_some(()),
            "op" if node == "SQLVALUEFUNCTION" => {
                self.reads_identity |= value.parse::<i64>().ok()? >= FIRST_IDENTITY;
                return Some(());
            }
            "relid" => &mut self.relations,
            member if contains_word(FUNCTION_MEMBERS, member) => &mut self.functions,
            member if contains_word(OPERATOR_MEMBERS, member) => &mut self.operators,
            member if contains_word(TYPE_MEMBERS, member) => &mut self.types,
            member if contains_word(MENTIONED_MEMBERS, member) => &mut self.mentioned_types,
            _ => return Some(()),
        };
        match value {
            // Nothing, and the mark of a list of numbers.
            "<>" | "o" | "0" => {}
            number => numbers.push(number.parse().ok()?),
        }
        Some(())
    }
}

/// The tokens of a tree: parentheses, and words in which a backslash escapes the next character.
struct Tokens<'t>(&'t str);

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let is_blank = |c: char| matches!(c, ' ' | '\n' | '\t');
        let is_bracket = |c: char| matches!(c, '(' | ')' | '{' | '}');
        let rest = self.0.trim_start_matches(is_blank);
        let mut is_escaped = false;
        let end = rest.char_indices().find(|(index, character)| {
            let is_end = !is_escaped && (is_blank(*character) || is_bracket(*character) && *index > 0);
            is_escaped = !is_escaped && *character == '\\';
            is_end || (*index == 1 && rest.starts_with(is_bracket))
        });
        let (token, rest) = rest.split_at_checked(end.map_or(rest.len(), |(index, _)| index))?;
        self.0 = rest;
        (!token.is_empty()).then_some(token)
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
        let expected = Expression {
            functions: vec![1574],
            operators: vec![525],
            types: vec![16, 20, 16400],
            ..Expression::default()
        };
        assert_eq!(Expression::parse(tree), Some(expected));
        for tree in [
            "",
            "{SUBLINK :subLinkType 4}",
            "({OPEXPR :opno 1} {QUERY :commandType 1})",
            "{NAMEDARGEXPR :name a}",
            "{FUNCEXPR :funcid x}",
            "{FUNCEXPR :funcid}",
            "{FUNCEXPR funcid 1}",
            "{FUNCEXPR :funcid 1",
            "{FUNCEXPR :funcid 1} {FUNCEXPR :funcid 1}",
            "{FUNCEXPR :funcid (1}",
            "{CONST :constvalue 4 [ 1",
            "word",
        ] {
            assert_eq!(Expression::parse(tree), None, "{tree}");
        }
    }

    /// Names cannot pretend to be members, nodes or the end of a node.
    #[test]
    fn r_ext_5_names_in_a_query_are_not_mistaken_for_code() {
        let tree = "({QUERY :commandType 1 :rtable ({RTE :eref {ALIAS :aliasname :funcid :colnames (\":opno\" \"a\\ \\}\" \
                    \"\")} :relid 16388 :coltypes (o 23 25)}) :targetList ({TARGETENTRY :expr {ROWCOMPAREEXPR :opnos (o 97 \
                    664) :largs <>} :resname \\{FUNCEXPR\\ :funcid\\ 7\\} :resno 1} {TARGETENTRY :expr {SQLVALUEFUNCTION :op \
                    3 :type 1184}}) :windowClause ({WINDOWCLAUSE :name :sortop :startInRangeFunc 4128 :endInRangeFunc 0})})";
        let expected = Expression {
            functions: vec![4128],
            operators: vec![97, 664],
            mentioned_types: vec![23, 25, 1184],
            relations: vec![16388],
            ..Expression::default()
        };
        assert_eq!(Expression::parse_query(tree), Some(expected));
        assert!(Expression::parse_query("{SQLVALUEFUNCTION :op 10}").is_some_and(|tree| tree.reads_identity));
        for tree in
            ["({QUERY :commandType 4})", "{QUERY :commandType 1 :rowMarks ({ROWMARKCLAUSE :rti 1})}", "{XMLEXPR :op 1}"]
        {
            assert_eq!(Expression::parse_query(tree), None, "{tree}");
        }
    }
}
