WITH RECURSIVE chain AS (
    SELECT t.oid AS outside, t.oid AS domain, t.typbasetype AS base, t.typtypmod AS modifier, t.typnotnull AS required,
        t.typdefault AS filled
    FROM pg_type t WHERE t.typtype = 'd'
    UNION ALL
    SELECT c.outside, t.oid, t.typbasetype, greatest(c.modifier, t.typtypmod), c.required OR t.typnotnull,
        coalesce(c.filled, t.typdefault)
    FROM chain c JOIN pg_type t ON t.oid = c.base AND t.typtype = 'd'),
made AS (SELECT c.* FROM chain c JOIN pg_type t ON t.oid = c.base AND t.typtype <> 'd')
SELECT json_build_object('id', a.attrelid::int8, 'number', a.attnum, 'name', a.attname,
    'type', coalesce(b.typname, t.typname), 'kind', coalesce(b.typtype, t.typtype),
    'category', coalesce(b.typcategory, t.typcategory),
    'cast', format_type(coalesce(b.oid, t.oid), -1), 'whole', format_type(a.atttypid, a.atttypmod),
    'element', e.typname, 'element_kind', e.typtype, 'modifier', coalesce(m.modifier, a.atttypmod),
    'required', a.attnotnull OR coalesce(m.required, false),
    'default', a.atthasdef OR a.attidentity <> '' OR m.filled IS NOT NULL,
    'default_expression', CASE WHEN a.attgenerated = '' THEN coalesce(
        (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum),
        m.filled) END,
    'rules', (SELECT json_agg(json_build_object('name', k.conname, 'rule', pg_get_constraintdef(k.oid)))
              FROM chain c JOIN pg_constraint k ON k.contypid = c.domain WHERE c.outside = t.oid),
    'generated', a.attgenerated <> '' OR a.attidentity = 'a',
    'deterministic', coalesce((SELECT l.collisdeterministic FROM pg_collation l WHERE l.oid = a.attcollation), true),
    'comment', col_description(a.attrelid, a.attnum),
    'select', has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
    'insert', has_column_privilege(a.attrelid, a.attnum, 'INSERT'),
    'update', has_column_privilege(a.attrelid, a.attnum, 'UPDATE'),
    'words', (SELECT json_agg(l.enumlabel ORDER BY l.enumsortorder) FROM pg_enum l
              WHERE l.enumtypid = coalesce(b.oid, t.oid)))::text
FROM pg_attribute a
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN made m ON m.outside = t.oid
LEFT JOIN pg_type b ON b.oid = m.base
LEFT JOIN pg_type e ON coalesce(b.typcategory, t.typcategory) = 'A' AND e.oid = coalesce(b.typelem, t.typelem)
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY($1::text[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum
