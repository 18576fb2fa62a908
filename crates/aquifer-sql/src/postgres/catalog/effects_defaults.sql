SELECT json_build_object('id', a.attrelid::int8, 'name', a.attname, 'number', a.attnum, 'identity', a.attidentity <> '',
    'schema', n.nspname, 'table', c.relname,
    'insert', has_column_privilege(a.attrelid, a.attnum, 'INSERT'),
    'select', has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
    'expression', coalesce(pg_get_expr(f.adbin, f.adrelid), t.typdefault),
    'tree', coalesce(f.adbin, t.typdefaultbin)::text,
    'sequences', (SELECT json_agg(json_build_object('id', s.seqrelid::int8, 'text', s.seqrelid::regclass::text,
            'schema', m.nspname, 'name', q.relname, 'increment', s.seqincrement,
            'select', has_sequence_privilege(s.seqrelid, 'SELECT'),
            'usage', has_sequence_privilege(s.seqrelid, 'USAGE') OR has_sequence_privilege(s.seqrelid, 'UPDATE')))
        FROM pg_depend d JOIN pg_sequence s ON s.seqrelid = CASE WHEN d.deptype = 'i' THEN d.objid ELSE d.refobjid END
        JOIN pg_class q ON q.oid = s.seqrelid JOIN pg_namespace m ON m.oid = q.relnamespace
        WHERE a.attidentity <> '' AND d.deptype = 'i' AND d.classid = 'pg_class'::regclass
              AND d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
           OR a.attidentity = '' AND d.deptype <> 'i' AND d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
              AND d.refclassid = 'pg_class'::regclass))::text
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
WHERE c.relkind IN ('r', 'p', 'f') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
    AND a.attgenerated = ''
    AND (f.oid IS NOT NULL OR a.attidentity <> '' OR t.typdefaultbin IS NOT NULL) AND n.nspname = ANY($1::text[]) ORDER BY a.attrelid, a.attnum
